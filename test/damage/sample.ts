/**
 * The journals that are damaged, made by the real replica with ids and times that never change, so that a bit has the same number in
 * every run.
 */
import type { Clock } from '../../src/engine/clock.ts'
import type { Ids } from '../../src/engine/ids.ts'
import type { Journal } from '../../src/engine/port.ts'
import { HoldfastError } from '../../src/errors.ts'
import type { Reducer } from '../../src/journal/reducer.ts'
import { Replica } from '../../src/journal/replica.ts'
import { encodeBody, Group, splitLines } from '../../src/record/line.ts'
import type { Operation } from '../../src/record/operation.ts'
import type { JsonObject, RecordType } from '../../src/record/record.ts'
import { BytesJournal, type Files } from './bytes-journal.ts'

/** Which records counted, each with its position, in order. */
export interface Seen {
  readonly records: readonly string[]
}

export const reducer: Reducer<Seen> = {
  initial: { records: [] },
  apply: ({ records }, { record, at }) => ({ records: record.type === 'segment.sealed' ? records : [...records, seenAs(at, record.id)] }),
  checkpoint: ({ records }) => ({ records }),
  restore: (checkpoint: JsonObject) => checkpoint as unknown as Seen,
  keysOf: () => [],
  keysFrom: () => 0,
}

export function seenAs(at: number, id: string): string {
  return `${id}@${at}`
}

function fixed(prefix: string): { clock: Clock; ids: Ids } {
  let [time, next] = [Date.UTC(2026, 10, 15), 0]
  return {
    clock: { now: () => time++, monotonicMs: () => 0, sleep: async () => undefined },
    ids: { next: () => `${prefix}${String(next++).padStart(2, '0')}`, random: () => 0, hex: (digits) => '0'.repeat(digits) },
  }
}

/** A replica whose records have ids with this prefix. It seals a segment that holds so many bytes. */
export function makeReplica(journal: Journal, prefix: string, segmentBytes = 1_000_000): Replica<Seen> {
  return new Replica({ journal, reducer, ...fixed(prefix), limits: { segmentBytes } })
}

export function write(type: RecordType, payload: JsonObject = {}): Operation<Seen, number> {
  return { decide: () => ({ write: { type, payload }, answer: ({ at }) => at }) }
}

const say = (text: string): Operation<Seen, number> => write('messages.appended', { text })

/**
 * Three segments: records of several sizes, alone and in groups, two that are written twice, a line that lost a race, a fragment that a
 * later lead-in ended, and a late writer's line behind a seal.
 */
export async function makeLongSample(): Promise<Files> {
  const journal = new BytesJournal()
  const replica = makeReplica(journal, 'a')
  await replica.submit(write('session.created', { title: 'Sample' }))
  const late = lineFor((await journal.read(0, 0))?.end ?? 0, 'late')
  await Promise.all(['yes', 'Grüße, 世界 🦀\u2028', 'J*J*'].map((text) => replica.submit(say(text))))
  await journal.append(0, endOf(journal, 0), late)
  await replica.submit(write('share.revoked', { share: 's1' }))
  await journal.append(0, endOf(journal, 0), late.subarray(0, 50))
  await replica.submit(say('x'.repeat(50)))
  const second = await replica.beginSegment()
  await makeReplica(journal, 'b', 1).submit(say('long enough to fill a segment '.repeat(12)))
  journal.files.set(second, Buffer.concat([journal.files.get(second) ?? Buffer.of(), late]))
  await Promise.all([replica.submit(say('a')), replica.submit(say('b'))])
  return journal.files
}

/** One segment of a session that was deleted, and a record behind that: it stands in its place and counts, whatever becomes of the delete. */
export async function makeDeletedSample(): Promise<Files> {
  const journal = new BytesJournal()
  const replica = makeReplica(journal, 'd')
  await replica.submit(write('session.created'))
  await replica.submit(say('kept'))
  await replica.submit(write('session.deleted'))
  const end = endOf(journal, 0)
  await journal.append(0, end, lineFor(end, 'late'))
  return journal.files
}

/** Two segments: the sync of the first one failed, so it was sealed and the second carries its lines. */
export async function makeCarriedSample(): Promise<Files> {
  const journal = new BytesJournal()
  const replica = makeReplica(journal, 'c')
  await replica.submit(write('session.created'))
  await replica.submit(say('synced'))
  failNextSync(journal, endOf(journal, 0))
  await Promise.allSettled([replica.submit(say('one')), replica.submit(write('share.revoked')), replica.submit(say('two'))])
  await replica.submit(say('after'))
  return journal.files
}

/** Three segments: a sync failed in the second one, and what the first one held was not certain either, so the third carries lines of both. */
export async function makeFarCarriedSample(): Promise<Files> {
  const journal = new BytesJournal()
  const replica = makeReplica(journal, 'f')
  await replica.submit(write('session.created'))
  const from = endOf(journal, 0)
  await replica.submit(say('one'))
  await replica.beginSegment()
  failNextSync(journal, from)
  await Promise.allSettled([replica.submit(say('two'))])
  await replica.submit(say('after'))
  return journal.files
}

/** The same as `makeCarriedSample` after a power cut that took lines of the first segment, one in the middle and the end: what the second one carries is all there is of them. */
export async function makeRescuedSample(): Promise<Files> {
  const files = new Map(await makeCarriedSample())
  const first = Buffer.from(files.get(0) ?? Buffer.of())
  const lines = splitLines(first, 0).lines
  const [one, two] = ['one', 'two'].map((text) => lines.find(({ bytes }) => Buffer.from(bytes).includes(`"text":"${text}"`)))
  if (one === undefined || two === undefined) throw new Error('The sample has changed.')
  first.fill(0, one.at, one.at + one.bytes.length)
  return files.set(0, first.subarray(0, two.at))
}

/** The next group stands, but nobody knows whether it is on the disk, nor what stands from a position on. */
function failNextSync(journal: BytesJournal, from: number): void {
  const append = journal.append.bind(journal)
  journal.append = async (segment, at, group) => {
    journal.append = append
    await append(segment, at, group)
    throw new HoldfastError('UNAVAILABLE', 'The sync failed.', { outcome: 'unknown', details: { reason: 'sync failed', segment, from } })
  }
}

function endOf(journal: BytesJournal, segment: number): number {
  return segment + (journal.files.get(segment)?.length ?? 0)
}

/** A group of one record that some other writer had stamped for this place. */
function lineFor(at: number, id: string): Buffer {
  const group = new Group(at, '00000000')
  group.add(encodeBody({ id, at: '2026-11-15T00:00:00.000Z', type: 'messages.appended', payload: { text: 'late' } }))
  return group.bytes
}
