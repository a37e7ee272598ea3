/** `title` and `tag`: what a session is called. Neither can touch a message. */
import { wrongUsage } from './arguments.ts'
import type { Context } from './context.ts'

export async function title(context: Context, [id, text]: [string, string]): Promise<void> {
  const session = (await context.write()).session(id)
  const { version } = await session.describe({ title: text === '' ? null : text })
  await context.out.result({ session_id: id, version })
  context.out.note(text === '' ? `"${id}" has no title now.` : `"${id}" is called "${text}" now.`)
}

export async function tag(context: Context, [id, changes]: [string, readonly string[]]): Promise<void> {
  const wrong = changes.find((change) => !/^[+-]./s.test(change))
  if (wrong !== undefined) throw wrongUsage(`A change of tags is +tag or -tag; got "${wrong}".`)
  const named = (sign: string): string[] => changes.filter((change) => change.startsWith(sign)).map((change) => change.slice(1))
  const [addTags, removeTags] = [named('+'), named('-')]
  const both = addTags.find((one) => removeTags.includes(one))
  if (both !== undefined) throw wrongUsage(`The tag "${both}" cannot be added and removed at once.`)
  const session = (await context.write()).session(id)
  const { version } = await session.describe({ addTags, removeTags })
  await context.out.result({ session_id: id, version })
  context.out.note(`Changed the tags of "${id}".`)
}
