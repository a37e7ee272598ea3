/** `memories`: what is known of an owner, from all sessions; with words, those that match them, the best first. */

import { withoutUndefined } from '../server/without-undefined.ts'
import { memoryCodec } from '../wire/tasks.ts'
import type { Context } from './context.ts'
import { relativeTime } from './terminal.ts'

export async function memories(context: Context, [words]: [string[]], { owner }: { readonly owner?: string }): Promise<void> {
  const { out } = context
  const query = words.length === 0 ? undefined : words.join(' ')
  const wanted = await (await context.read()).memories(withoutUndefined({ owner, query }))
  const now = Date.now()
  await out.results(
    wanted,
    memoryCodec.encode,
    [
      { title: 'CATEGORY' },
      { title: 'MEMORY', shrinks: true },
      { title: 'UPDATED', style: out.colours.dim },
      { title: 'SESSIONS', shrinks: true },
    ],
    ({ category, text, updatedAt, sources }) => [
      category,
      text,
      relativeTime(updatedAt, now),
      [...new Set(sources.map(({ session }) => session))].join(' '),
    ],
  )
  if (wanted.length > 0) return
  const whose = owner === undefined ? 'of nobody in particular; --owner names whose to look for' : `of "${owner}"`
  out.note(words.length === 0 ? `No memories ${whose}.` : `No memories ${whose} match.`)
}
