/**
 * The records of the suite, and the two ways in which it looks at a journal: as lines, byte by byte, and as what counts, folded by the
 * same rules as every user of an engine. Blank lines are left out everywhere: gaps are legal, so an engine need not store them.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { type Counted, JournalFold, type Verdict } from '../../record/fold.ts'
import { hashKey, type KeyEntry, type KeysOf } from '../../record/key-hash.ts'
import { encodeBody, Group, isBlank, LEAD_IN, type Line, type LinePlace } from '../../record/line.ts'
import type { Draft, JsonObject, RecordType } from '../../record/record.ts'
import type { Journal } from '../port.ts'

let drafts = 0

/** A record with an id of its own. A payload may name its keys in `keys`; that is all that `testKeysOf` looks at. */
export function draft(type: RecordType, payload: JsonObject = {}): Draft {
  drafts += 1
  return { id: `record-${drafts}`, at: '2026-01-01T00:00:00.000Z', type, payload }
}

/** A record that holds these keys. */
export function message(...keys: string[]): Draft {
  return draft('messages.appended', { keys })
}

export const testKeysOf: KeysOf = ({ record, ...place }) => {
  if (!Array.isArray(record.keys)) return []
  return record.keys.map((key, index) => entryOf(String(key), place, index))
}

/** What an engine has to remember of a key whose record stands at a place. */
export function entryOf(key: string, { at, end, crc }: LinePlace, index = 0): KeyEntry {
  return { key: hashKey('message', key), at, length: end - at, crc, index, digest: hash('sha256', `body of ${key}`, 'hex').slice(0, 32) }
}

/** The bytes of a group that may be appended at `at`, behind a record whose crc is `prev`, and where each record then stands. */
export function groupAt(at: number, prev: string, ...records: Draft[]): { readonly bytes: Buffer; readonly places: readonly LinePlace[] } {
  const group = new Group(at, prev)
  const places = records.map((record) => group.add(encodeBody(record)))
  return { bytes: group.bytes, places }
}

/** A group of arbitrary lines: an engine moves them, whatever they are. */
export function rawGroup(...lines: Uint8Array[]): Buffer {
  return Buffer.concat([LEAD_IN, ...lines.flatMap((line) => [line, Buffer.from('\n')])])
}

/** Bytes of every value but a newline, beginning with a letter so that no line is blank by chance. */
export function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length)
  let state = seed + 1
  for (let index = 0; index < length; index++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    const byte = state >>> 24
    bytes[index] = byte === 0x0a ? 0x0d : byte
  }
  bytes[0] = 0x61 + (seed % 26)
  return bytes
}

export interface Content {
  readonly lines: readonly Line[]
  /** Behind the last whole line. */
  readonly next: number
  /** The append point. */
  readonly end: number
}

/** Every line of a segment, in as many reads as it takes. */
export async function contentOf(journal: Journal, segment: number, from = segment, limit?: number): Promise<Content> {
  const lines: Line[] = []
  for (let next = from; ; ) {
    const chunk = await journal.read(segment, next, limit)
    assert.ok(chunk, `segment ${segment} must be there`)
    lines.push(...chunk.lines.filter((line) => !isBlank(line.bytes)))
    if (chunk.lines.length === 0 || chunk.next >= chunk.end) return { lines, next: chunk.next, end: chunk.end }
    assert.ok(chunk.next > next, `a read from ${next} that returned lines must go on behind it, not at ${chunk.next}`)
    next = chunk.next
  }
}

/** Compares lines by position and bytes, with a message that does not print megabytes. */
export function assertLines(actual: readonly Line[], expected: readonly Line[]): void {
  const places = (lines: readonly Line[]) => lines.map(({ at, bytes }) => `${bytes.length} bytes at ${at}`)
  assert.deepEqual(places(actual), places(expected))
  for (const [index, { at, bytes }] of expected.entries()) {
    assert.ok(Buffer.compare(actual[index]?.bytes ?? Buffer.of(), bytes) === 0, `the line at ${at} must come back as it was given`)
  }
}

/** The lines that a group puts into a segment, if it is appended at `at`. */
export function linesOf(group: Uint8Array, at: number): Line[] {
  const lines: Line[] = []
  for (let begin = 0; begin < group.length; ) {
    const end = group.indexOf(0x0a, begin)
    const bytes = Buffer.from(group.subarray(begin, end))
    if (!isBlank(bytes)) lines.push({ at: at + begin, bytes })
    begin = end + 1
  }
  return lines
}

export interface Folded {
  readonly fold: JournalFold
  readonly counted: readonly Counted[]
  readonly verdicts: readonly Verdict[]
}

/** Folds a journal, or what stands in it from a segment on. */
export async function foldJournal(journal: Journal, from = 0): Promise<Folded> {
  const segments = (await journal.segments()).filter((first) => first >= from)
  const verdicts: Verdict[] = []
  const fold = new JournalFold(segments[0] ?? 0, segments[1])
  for (const [index, segment] of segments.entries()) {
    if (index > 0) fold.enter(segment, segments[index + 1])
    for (const line of (await contentOf(journal, segment)).lines) verdicts.push(fold.judge(line))
  }
  return { fold, verdicts, counted: verdicts.filter((verdict) => verdict.kind === 'counted') }
}

/** Ids of the records that count, in order. */
export async function countedIds(journal: Journal, from = 0): Promise<string[]> {
  return (await foldJournal(journal, from)).counted.map(({ record }) => record.id)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}
