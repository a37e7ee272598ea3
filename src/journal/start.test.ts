import { expect, test } from 'vitest'
import type { Chunk, Journal } from '../engine/port.ts'
import { encodeBody, encodeCheckpoint, Group, LEAD_IN, splitLines } from '../record/line.ts'
import type { Draft } from '../record/record.ts'
import { startOf } from './start.ts'

const AT = '2026-11-17T00:00:00.000Z'

function groupAt(at: number, ...drafts: Pick<Draft, 'type' | 'payload'>[]): Buffer {
  const group = new Group(at, '')
  for (const [i, draft] of drafts.entries()) group.add(encodeBody({ id: `${at}.${i}`, at: AT, ...draft }))
  return Buffer.from(group.bytes)
}

/** A journal of these segments, by their first positions. */
function journalOf(segments: ReadonlyMap<number, Buffer>): Journal {
  const read = (segment: number, from: number): Promise<Chunk | undefined> => {
    const bytes = segments.get(segment)
    if (bytes === undefined) return Promise.resolve(undefined)
    return Promise.resolve({ ...splitLines(bytes.subarray(from - segment), from), end: segment + bytes.length, opened: 1 })
  }
  return { read } as Journal
}

const seal = (payload: object): Pick<Draft, 'type' | 'payload'> => ({ type: 'segment.sealed', payload: { why: 'sync failed', ...payload } })
const CREATED = groupAt(0, { type: 'session.created', payload: {} })
/** Without its lead-in. */
const CREATED_LINE = CREATED.subarray(LEAD_IN.length, CREATED.indexOf('\n', LEAD_IN.length) + 1)
const ZEROS = Buffer.alloc(CREATED.length)

function startsAt(...parts: readonly Buffer[]): Promise<number | undefined> {
  const segments = new Map<number, Buffer>()
  let first = 0
  for (const part of parts) {
    segments.set(first, part)
    first += part.length
  }
  return startOf(journalOf(segments), [...segments.keys()])
}

/** A segment that starts with a checkpoint and carries the line of the first record. */
function carrying(base: number, line: Buffer): Buffer {
  const checkpoint = encodeCheckpoint({ base, id: '1', at: AT, prev: '', carries: 1, state: {} })
  return Buffer.concat([LEAD_IN, checkpoint, LEAD_IN, line])
}

test('a journal starts at the first segment that holds a record', async () => {
  expect(await startsAt()).toBeUndefined()
  expect(await startsAt(CREATED, CREATED)).toBe(0)
  expect(await startsAt(ZEROS, groupAt(ZEROS.length, { type: 'messages.appended', payload: {} }), ZEROS)).toBe(ZEROS.length)
})

test('where a whole segment could not be synced and is lost but for its seal, it starts at the line that the next segment carries', async () => {
  const sealed = groupAt(ZEROS.length, seal({ from: 0 }))
  const base = ZEROS.length + sealed.length
  expect(await startsAt(ZEROS, sealed, carrying(base, CREATED_LINE))).toBe(LEAD_IN.length)
  // Nothing is carried from a segment that was synced.
  expect(await startsAt(ZEROS, groupAt(ZEROS.length, seal({})), carrying(base, CREATED_LINE))).toBe(ZEROS.length)
})

test('where nothing was left to carry, it starts at the checkpoint before that seal', async () => {
  const checkpoint = Buffer.concat([LEAD_IN, encodeCheckpoint({ base: ZEROS.length, id: '1', at: AT, prev: '', carries: 0, state: {} })])
  const sealed = Buffer.concat([checkpoint, groupAt(ZEROS.length + checkpoint.length, seal({ from: 0 }))])
  const next = encodeCheckpoint({ base: ZEROS.length + sealed.length, id: '2', at: AT, prev: '', carries: 0, state: {} })
  expect(await startsAt(ZEROS, sealed, Buffer.concat([LEAD_IN, next]))).toBe(ZEROS.length)
})

test('where a segment before that one is lost too, it starts at the line that is carried from there', async () => {
  const checkpoint = Buffer.concat([LEAD_IN, encodeCheckpoint({ base: ZEROS.length, id: '1', at: AT, prev: '', carries: 0, state: {} })])
  const sealed = Buffer.concat([checkpoint, groupAt(ZEROS.length + checkpoint.length, seal({ from: 0 }))])
  expect(await startsAt(ZEROS, sealed, carrying(ZEROS.length + sealed.length, CREATED_LINE))).toBe(LEAD_IN.length)
})
