/** A journal of notes: the smallest thing that can be lost, doubled or damaged. What the tests of this folder write, read and hold against each other. */
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { type Ids, systemIds } from '../../src/engine/ids.ts'
import type { Engine, Journal } from '../../src/engine/port.ts'
import { type FilesEngineOptions, openFilesEngine } from '../../src/engines/files/engine.ts'
import { history } from '../../src/journal/history.ts'
import type { Reducer } from '../../src/journal/reducer.ts'
import { Replica } from '../../src/journal/replica.ts'
import type { ReplicaOptions } from '../../src/journal/replica-options.ts'
import { hashKey } from '../../src/record/key-hash.ts'
import type { Operation } from '../../src/record/operation.ts'
import type { JsonObject, RecordType } from '../../src/record/record.ts'

type Notes = readonly string[]

export const reducer: Reducer<Notes> = {
  initial: [],
  apply: (notes, { record }) => (typeof record.note === 'string' ? [...notes, record.note] : notes),
  checkpoint: (notes) => ({ notes }),
  restore: ({ notes }: JsonObject) => notes as Notes,
  keysOf: ({ record, at, end, crc }) =>
    typeof record.note === 'string' ? [{ key: keyOf(record.note), at, length: end - at, crc, index: 0, digest: '0'.repeat(32) }] : [],
  keysFrom: () => 0,
}

function keyOf(note: string): string {
  return hashKey('message', note)
}

/** Writes a note, once: repeated, it is answered with the first outcome. */
export function write(note: string, type: RecordType = 'messages.appended', urgent = false): Operation<Notes, 'written' | 'known'> {
  return {
    keys: [keyOf(note)],
    ...(urgent ? { urgent } : {}),
    decide: (_, known) =>
      known(keyOf(note)) === undefined ? { write: { type, payload: { note } }, answer: () => 'written' } : { answer: 'known' },
  }
}

export interface Opened {
  readonly engine: Engine
  readonly journal: Journal
  readonly replica: Replica<Notes>
}

export interface OpenOptions extends Omit<FilesEngineOptions, 'keysOf'> {
  readonly id?: string
  readonly segmentBytes?: number
}

/** Opens a store and one of its sessions, as a process that starts does. */
export async function open({ id = 'session', segmentBytes, ...options }: OpenOptions): Promise<Opened> {
  const clock: Clock = options.clock ?? systemClock
  const ids: Ids = options.ids ?? systemIds
  const engine = await openFilesEngine({ ...options, keysOf: reducer.keysOf })
  const journal = engine.journal(engine.name('space', id))
  const limits: ReplicaOptions<Notes>['limits'] = segmentBytes === undefined ? {} : { segmentBytes }
  return { engine, journal, replica: new Replica({ journal, reducer, clock, ids, limits }) }
}

export interface Found {
  /** Notes that count, in order. */
  readonly notes: readonly string[]
  /** As `segment`, `at`, `length` and how it looks. */
  readonly damage: readonly { readonly segment: number; readonly at: number; readonly length: number; readonly as: string }[]
  readonly seals: readonly string[]
}

/** Reads a journal from its first byte on. */
export async function inspect(journal: Journal): Promise<Found> {
  const notes: string[] = []
  const seals: string[] = []
  const damage: Found['damage'][number][] = []
  for await (const { verdict, segment } of history(journal)) {
    if (verdict.kind === 'damage') damage.push({ segment, at: verdict.at, length: verdict.length, as: verdict.as })
    if (verdict.kind === 'counted' && typeof verdict.record.note === 'string') notes.push(verdict.record.note)
    if (verdict.kind === 'counted' && verdict.record.type === 'segment.sealed') seals.push(String(verdict.record.why))
  }
  return { notes, damage, seals }
}
