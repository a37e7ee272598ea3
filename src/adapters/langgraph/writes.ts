/** What tasks wrote between two checkpoints. */
import { type CheckpointPendingWrite, type PendingWrite, type SerializerProtocol, WRITES_IDX_MAP } from '@langchain/langgraph-checkpoint'
import type { Json } from '../../record/record.ts'
import { type Packed, pack, unpack } from './packed.ts'
import { type Change, keyOf, type Thread, WRITES } from './thread.ts'

/** Tasks that one page names: a step with a thousand tasks must not write a list of all of them for each. */
const PAGE = 32

interface TaskWrites {
  readonly task: string
  readonly writes: readonly { readonly index: number; readonly channel: string; readonly value: Packed }[]
}

export interface At {
  readonly ns: string
  readonly checkpoint: string
}

export async function putWrites(
  thread: Thread,
  serde: SerializerProtocol,
  { ns, checkpoint }: At,
  writes: readonly PendingWrite[],
  task: string,
): Promise<void> {
  const fresh = await Promise.all(
    writes.map(async ([channel, value], place) => ({
      index: WRITES_IDX_MAP[channel as string] ?? place,
      channel: channel as string,
      value: await pack(serde, value),
    })),
  )
  await thread.change(async (): Promise<Change | undefined> => {
    const { writes: before = [] } = (await thread.read<TaskWrites>(WRITES, ns, checkpoint, task)) ?? {}
    // What a task wrote counts once; errors, interrupts and the like may change.
    const added = fresh.filter(({ index }) => index < 0 || !before.some((write) => write.index === index))
    if (added.length === 0) return undefined
    const kept = before.filter(({ index }) => !added.some((write) => write.index === index))
    const value = { task, writes: [...kept, ...added] } as unknown as Json
    const entry = { channel: WRITES, key: keyOf(ns, checkpoint, task), value }
    return { entries: [entry, ...(before.length > 0 ? [] : [await named(thread, { ns, checkpoint }, task)])] }
  })
}

/** The entry that adds a task to those that wrote something. */
async function named(thread: Thread, at: At, task: string): Promise<{ channel: string; key: string; value: Json }> {
  const pages = await pagesOf(thread, at)
  const last = pages.at(-1) ?? []
  const full = pages.length === 0 || last.length >= PAGE
  const number = full ? pages.length : pages.length - 1
  return { channel: WRITES, key: pageKey(at, number), value: full ? [task] : [...last, task] }
}

async function pagesOf(thread: Thread, { ns, checkpoint }: At): Promise<string[][]> {
  const pages: string[][] = []
  for (;;) {
    const page = await thread.read<string[]>(WRITES, ns, checkpoint, `#${pages.length}`)
    if (page === undefined) return pages
    pages.push(page)
    if (page.length < PAGE) return pages
  }
}

function pageKey({ ns, checkpoint }: At, number: number): string {
  return keyOf(ns, checkpoint, `#${number}`)
}

export async function readWrites(thread: Thread, serde: SerializerProtocol, at: At): Promise<CheckpointPendingWrite[]> {
  const pending: CheckpointPendingWrite[] = []
  for (const task of (await pagesOf(thread, at)).flat()) {
    const { writes = [] } = (await thread.read<TaskWrites>(WRITES, at.ns, at.checkpoint, task)) ?? {}
    for (const { channel, value } of writes) pending.push([task, channel, await unpack(serde, value)])
  }
  return pending
}

/** The keys of all that was written on a checkpoint. */
export async function keysOfWrites(thread: Thread, at: At): Promise<string[]> {
  const pages = await pagesOf(thread, at)
  return [...pages.keys()].map((number) => pageKey(at, number)).concat(pages.flat().map((task) => keyOf(at.ns, at.checkpoint, task)))
}
