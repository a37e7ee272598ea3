/** Stores to look at: made by the real store, with ids and times that never change, so that a byte has the same meaning in every run. */

import { doctor } from '../../src/doctor/doctor.ts'
import type { Clock } from '../../src/engine/clock.ts'
import type { Ids } from '../../src/engine/ids.ts'
import { journalName } from '../../src/engine/names.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { segmentFile } from '../../src/engines/files/names.ts'
import { HoldfastError } from '../../src/errors.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Finding } from '../../src/verify/findings.ts'
import { type Files, MemoryDisk } from './disk.ts'

const STORE = '/store'

function fixed(day: number): { clock: Clock; ids: Ids } {
  let [time, next] = [Date.UTC(2026, 10, day), 0]
  return {
    clock: { now: () => time++, monotonicMs: () => 0, sleep: async () => undefined },
    ids: { next: () => `r${String(next++).padStart(3, '0')}`, random: () => 0, hex: (digits) => String(next++).padStart(digits, '0') },
  }
}

/** A store on a disk in memory, with segments of so many bytes, on a day. */
export async function openOn(disk: MemoryDisk, segmentBytes: number, day = 15): Promise<Store> {
  const parts = fixed(day)
  const limits = { reserveBytes: 0, segmentBytes }
  const engine = await openFilesEngine({ directory: STORE, disk, keysOf: sessionReducer.keysOf, ...parts, limits })
  return openStore(engine, { ...parts, limits })
}

/** Everything that the doctor finds in these files, but for the note that watermarks are missing: those of a disk that was copied are not trusted. */
export async function findingsIn(files: Files | MemoryDisk, session?: string): Promise<Finding[]> {
  const store = await openOn(files instanceof MemoryDisk ? files : new MemoryDisk(files), 1_000_000)
  const findings: Finding[] = []
  for await (const finding of doctor(store, session === undefined ? {} : { session }))
    if (finding.kind !== 'no-watermarks') findings.push(finding)
  await store.close()
  return findings
}

/** Where a segment of a session lies. */
export function pathOf(session: string, segment: number): string {
  return `${directoryOf(session)}/${segmentFile(segment)}`
}

export function directoryOf(session: string): string {
  return `${STORE}/sessions/${journalName('default', session)}`
}

/** First positions of the segments of a session. */
export function segmentsOf(files: Files, session: string): number[] {
  const directory = `${directoryOf(session)}/`
  return [...files.keys()]
    .filter((path) => path.startsWith(directory) && path.endsWith('.jsonl'))
    .map((path) => Number(path.slice(directory.length, -'.jsonl'.length)))
    .sort((a, b) => a - b)
}

/** A little of everything, in more than one segment each. */
export async function makeStore(): Promise<Files> {
  const disk = new MemoryDisk()
  const store = await openOn(disk, 900)
  await talk(store, 'talk')
  const parent = store.session('talk')
  await parent.fork({ id: 'fork', at: 'talk 3' })
  const fork = await talk(store, 'fork')
  await fork.fork({ id: 'fork of fork', at: 'talk 1' })
  await (await parent.child({ id: 'child' })).append({ role: 'user', content: 'task' })
  await parent.delete()
  await talk(store, 'restored')
  const restored = store.session('restored')
  await restored.delete()
  await restored.restore()
  await talk(store, 'again')
  await store.session('again').delete()
  await store.create({ id: 'again', title: 'Anew' })
  await talk(store, 'purged')
  await store.session('purged').delete()
  for await (const _ of store.purge({ olderThanMs: 0 }));
  await talk(store, 'again')
  await carry(store, disk)
  await store.in('other').create({ id: 'elsewhere' })
  await store.close()
  return disk.files
}

/** Small enough to flip every bit of it: a session of two segments, and a fork of it. */
export async function makeSmallStore(): Promise<Files> {
  const disk = new MemoryDisk()
  const store = await openOn(disk, 1)
  const session = store.session('s')
  await session.append({ role: 'user', content: 'one' }, { ids: ['m1'], key: 'k' })
  await session.fork({ id: 'f' })
  await session.describe({ title: 'Title' })
  await store.close()
  return disk.files
}

/** Messages with and without ids, a revert, a branch, an undo, snapshots, entries, descriptions: all that a session can hold. */
export async function talk(store: Store, id: string) {
  const session = store.session(id)
  for (let i = 0; i < 4; i++)
    await session.append({ role: 'user', content: `message ${i}` }, { ids: [`${id} ${i}`], key: `${id} key ${i}` })
  await session.snapshot('early')
  await session.append([
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ])
  await session.revert({ message: `${id} 2` })
  await session.append({ role: 'user', content: 'another way' })
  await session.undo()
  await session.describe({ title: `All of ${id}`, addTags: ['one'] })
  await session.putEntries([{ channel: 'c', key: 'k', value: 1 }])
  await session.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 2 })
  await session.replace(`${id} 0`, { role: 'user', content: 'better' })
  await session.append({ role: 'user', content: 'the end' })
  return session
}

/** A session whose sync failed once: its last lines stand in two segments. */
async function carry(store: Store, disk: MemoryDisk): Promise<void> {
  const session = store.session('carried')
  await session.append({ role: 'user', content: 'synced' })
  disk.failSyncs = 1
  await session.append({ role: 'user', content: 'not synced' }, { ids: ['n'] }).catch((error: unknown) => {
    if (!(error instanceof HoldfastError) || error.outcome !== 'unknown') throw error
  })
  await session.append({ role: 'user', content: 'later' })
}
