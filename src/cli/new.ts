/** `new`: creates a session. */
import { withoutUndefined } from '../server/without-undefined.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

interface Options {
  readonly title?: string
  readonly tag?: readonly string[]
  readonly owner?: string
  readonly workspace?: string
  readonly parent?: string
}

export async function newSession(context: Context, [id]: [string?], options: Options): Promise<void> {
  const { title, tag: tags, owner, workspace, parent } = options
  const store = await context.write()
  const session = await store.create(withoutUndefined({ id, title, tags, owner, workspace, parent }))
  const version = await session.version()
  await context.out.result({ session_id: session.id, version }, () => inLine(session.id))
}
