/** A session that has something for every route to answer, with one text in all that readers show of it. */
import { Worker } from '../../src/commit/worker.ts'
import { LIMITS } from '../../src/record/limits.ts'
import type { Store } from '../../src/store/store.ts'

/** The names that paths of routes are filled with. */
export interface Named {
  readonly id: string
  readonly mid: string
  readonly aid: string
  readonly tid: string
  readonly sid: string
  readonly rid: string
  readonly token: string
}

export const CHANNEL = 'notes'
export const WORD = 'marigold'
/** Longer tags and titles and larger metadata are refused. A character takes up to six bytes as JSON. */
const TAG_LENGTH = LIMITS.idBytes / 8
const TITLE_LENGTH = LIMITS.titleBytes / 8
const METADATA_LENGTH = LIMITS.metadataBytes / 8

/** Creates the session. The text is in its messages, its archive with a summary, its title and tags, its metadata, and an entry. */
export async function createSubject(store: Store, id: string, text: string): Promise<Named> {
  const [tag, title] = [TAG_LENGTH, TITLE_LENGTH].map((length) => text.slice(0, length).toWellFormed()) as [string, string]
  const session = await store.create({ id, title, tags: [tag], owner: 'kim', metadata: { text: text.slice(0, METADATA_LENGTH) } })
  const call = { type: 'tool', tool_id: 'tool-1', tool_name: 'look', tool_input: { text }, tool_output: text }
  await session.append({ role: 'user', content: `${WORD} ${text}` }, { ids: ['m1'] })
  await session.append({ role: 'assistant', content: [{ type: 'text', text }] }, { ids: ['m2'] })
  await session.commit()
  await new Worker(store, { session: id }).drain()
  await session.append(
    [
      { role: 'user', content: text },
      { role: 'assistant', parts: [call] },
    ],
    { ids: ['m3', 'm4'] },
  )
  await session.append({ role: 'user', content: [{ type: 'text', text }] }, { ids: ['m5'] })
  await session.putEntries([{ channel: CHANNEL, key: 'k', value: text }])
  await session.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 1 })
  await session.snapshot('snap')
  const { share, token } = await session.share()
  const [task] = await store.tasks({ session: id })
  return { id, mid: 'm3', aid: 'archive_001', tid: task?.id ?? '', sid: share, rid: 'tool-1', token }
}

/** Waits until the catalog has indexed everything: that work is a part of what an append costs. */
export async function untilIndexed(store: Store): Promise<void> {
  while ((await store.search(WORD, { limit: 1 })).lag !== null);
}
