/** The session that is damaged. Everything that a surface can ask for is in it, in three segments. */
import { Worker } from '../../../src/commit/worker.ts'
import { Handle } from '../../../src/store/handle.ts'
import type { Store } from '../../../src/store/store.ts'

export const TALK = 'talk'
export const OTHER = 'other'
export const WORD = 'marigold'
/** Messages that faults hit: one that an archive holds, and a live one. Each is longer than a page of the disk. */
export const LOST = { early: 'lost-early', late: 'lost-late' } as const
export const EARLY = 'the early message that is lost'
export const LATE = 'the late message that is lost'
export const TITLE = 'The title that is lost'
export const ENTRY = 'the entry that is lost'
export const REPLACED = { id: 'm8', by: 'the replacement that is lost' } as const

/** Names of what is in the session, as paths of routes have them. */
export interface Named {
  readonly id: string
  readonly mid: string
  readonly aid: string
  readonly tid: string
  readonly sid: string
  readonly rid: string
  readonly token: string
}

export async function prepare(store: Store): Promise<Named> {
  const session = await store.create({ id: TALK, title: 'A first title', owner: 'kim' })
  const say = (id: string, content: string) => session.append({ role: 'user', content: `${content} ${WORD}` }, { ids: [id] })
  const rollOver = () => new Handle(store.parts, TALK).held.replica.beginSegment()
  await say('m1', 'One.')
  await say('m2', 'Two.')
  await rollOver()
  await say('m3', 'Three.')
  await say('m4', 'Four.')
  await rollOver()
  await say('m5', 'Five.')
  await say(LOST.early, long(EARLY))
  await say('m7', 'Seven.')
  await session.commit()
  await new Worker(store).drain()
  await session.putEntries([{ channel: 'notes', key: 'k', value: 1 }])
  await session.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 1 })
  await session.snapshot('snap')
  await say(REPLACED.id, 'Eight.')
  await say(LOST.late, long(LATE))
  await session.putEntries([{ channel: 'notes', key: 'k', value: ENTRY }])
  await session.replace(REPLACED.id, { role: 'user', content: REPLACED.by })
  await session.describe({ title: TITLE })
  const call = { type: 'tool', tool_id: 'tool-1', tool_name: 'look', tool_input: {}, tool_output: WORD }
  await session.append({ role: 'assistant', parts: [call] }, { ids: ['m10'] })
  const { share, token } = await session.share()
  await say('m11', 'Eleven.')
  await (await store.create({ id: OTHER })).append({ role: 'user', content: 'Of another session.' })
  const [task] = await store.tasks({ session: TALK })
  await untilIndexed(store)
  return { id: TALK, mid: LOST.late, aid: 'archive_001', tid: task?.id ?? '', sid: share, rid: 'tool-1', token }
}

function long(text: string): string {
  return `${text}${'.'.repeat(6000)}`
}

/** A search finds by the index what a journal no longer has. */
async function untilIndexed(store: Store): Promise<void> {
  while ((await store.search(WORD)).lag !== null);
}
