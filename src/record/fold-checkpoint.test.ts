import { describe, expect, test } from 'vitest'
import { JournalFold, type Verdict } from './fold.ts'
import { encodeBody, encodeCheckpoint, Group, LEAD_IN, splitLines } from './line.ts'
import type { Draft, JsonObject, RecordType } from './record.ts'

const AT = '2026-11-15T09:30:00.123Z'
const NEWLINE = Buffer.from('\n')

function draft(id: string, type: RecordType = 'messages.appended', payload: JsonObject = {}): Draft {
  return { id, at: AT, type, payload }
}

function groupAt(at: number, ...drafts: Draft[]): Buffer {
  const group = new Group(at, 'aaaaaaaa')
  for (const one of drafts) group.add(encodeBody(one))
  return group.bytes
}

function checkpoint(base: number, id: string, { carries = 0 } = {}): Buffer {
  return encodeCheckpoint({ base, id, at: AT, prev: 'aaaaaaaa', carries, state: { from: id } })
}

function judgeAll(fold: JournalFold, at: number, ...parts: Uint8Array[]): string[] {
  const { lines } = splitLines(Buffer.concat(parts), at)
  return lines.map((line) => describeVerdict(fold.judge(line))).filter((verdict) => verdict !== 'blank')
}

function describeVerdict(verdict: Verdict): string {
  if (verdict.kind === 'counted') return `${verdict.carried ? 'carried' : 'counted'} ${verdict.record.id} at ${verdict.at}`
  if (verdict.kind === 'checkpoint') return `checkpoint ${verdict.record.id}`
  return verdict.kind === 'damage' ? 'damage' : verdict.why
}

/** A first segment whose lines may not be on the disk, and its counted lines, to be carried. */
function firstSegment() {
  const records = groupAt(0, draft('c', 'session.created'), draft('a'), draft('b'))
  const seal = groupAt(records.length, draft('seal', 'segment.sealed', { why: 'sync failed', from: 0 }))
  const bytes = Buffer.concat([records, seal])
  const fold = new JournalFold(0)
  const carried: { readonly id: string; readonly at: number; readonly bytes: Buffer }[] = []
  for (const line of splitLines(bytes, 0).lines) {
    const verdict = fold.judge(line)
    if (verdict.kind !== 'counted' || verdict.record.type === 'segment.sealed') continue
    carried.push({ id: verdict.record.id, at: verdict.at, bytes: Buffer.concat([line.bytes, NEWLINE]) })
  }
  return { bytes, carried, end: bytes.length, fold }
}

describe('rule 5: a checkpoint', () => {
  test('sets the state of the segment that it opens, and is what the first record follows', () => {
    const fold = new JournalFold(500)
    expect(fold).toMatchObject({ rooted: false, ready: false, fresh: true })
    const line = checkpoint(500, 'k')
    expect(judgeAll(fold, 500, LEAD_IN, line)).toEqual(['checkpoint k'])
    expect(fold).toMatchObject({ rooted: true, ready: true, fresh: true, lastId: 'k', lastAt: AT, end: 500 })
    expect(fold.root).toMatchObject({ base: 500, state: { from: 'k' } })
    expect(fold.prev).toBe(/"crc":"([0-9a-f]{8})"/.exec(line.toString())?.[1])
    expect(fold.checkpointBytes).toBe(line.length - 1)
  })

  test('is the first intact one: another behind it sets nothing', () => {
    const fold = new JournalFold(500)
    expect(judgeAll(fold, 500, LEAD_IN, checkpoint(500, 'k'), checkpoint(500, 'other'))).toEqual(['checkpoint k', 'checkpoint'])
    expect(fold).toMatchObject({ lastId: 'k' })
  })

  test('may be the second copy, where the first is rotten', () => {
    const rotten = checkpoint(500, 'k')
    rotten[30] = (rotten[30] as number) ^ 1
    const fold = new JournalFold(500)
    expect(judgeAll(fold, 500, LEAD_IN, rotten, checkpoint(500, 'k'))).toEqual(['damage', 'checkpoint k'])
    expect(fold).toMatchObject({ rooted: true, lastId: 'k' })
  })

  test('of another segment sets nothing', () => {
    const fold = new JournalFold(500)
    expect(judgeAll(fold, 500, LEAD_IN, checkpoint(499, 'k'))).toEqual(['checkpoint'])
    expect(fold).toMatchObject({ rooted: false, ready: false, lastId: '' })
  })

  test('behind a placed record sets nothing', () => {
    const fold = new JournalFold(500)
    const first = groupAt(500, draft('a'))
    expect(judgeAll(fold, 500, first, LEAD_IN, checkpoint(500, 'k'))).toEqual(['counted a at 502', 'checkpoint'])
    expect(fold).toMatchObject({ rooted: false, root: undefined, lastId: 'a', ready: true })
  })

  test('is judged before the position: it has none', () => {
    const fold = new JournalFold(0)
    expect(judgeAll(fold, 0, LEAD_IN, checkpoint(0, 'k'))).toEqual(['checkpoint k'])
  })
})

describe('rule 6: in front of the first placed record, lines from before the segment', () => {
  test('are carried: where their own place is lost, they count once, at that place', () => {
    const { carried, end } = firstSegment()
    const fold = new JournalFold(end)
    const verdicts = judgeAll(fold, end, LEAD_IN, checkpoint(end, 'k', { carries: 3 }), ...carried.map(({ bytes }) => bytes))
    expect(verdicts).toEqual(['checkpoint k', ...carried.map(({ id, at }) => `carried ${id} at ${at}`)])
    expect(fold).toMatchObject({ rooted: true, lastId: 'k', end, fresh: true, carriedFrom: carried[0]?.at })
  })

  test('count no second time where the segment before has them', () => {
    const { bytes, carried, end } = firstSegment()
    const fold = new JournalFold(0, end)
    judgeAll(fold, 0, bytes)
    fold.enter(end)
    const verdicts = judgeAll(fold, end, LEAD_IN, checkpoint(end, 'k', { carries: 3 }), ...carried.map((one) => one.bytes))
    expect(verdicts).toEqual(['checkpoint k', 'repeated', 'repeated', 'repeated'])
    expect(fold.ready).toBe(true)
  })

  test('count in place of those that the segment before has lost', () => {
    const { bytes, carried, end } = firstSegment()
    const lost = carried[1] as { id: string; at: number; bytes: Buffer }
    const holed = Buffer.from(bytes)
    holed.fill(0, lost.at, lost.at + lost.bytes.length - 1)
    const fold = new JournalFold(0, end)
    judgeAll(fold, 0, holed)
    fold.enter(end)
    const verdicts = judgeAll(fold, end, LEAD_IN, checkpoint(end, 'k', { carries: 3 }), ...carried.map((one) => one.bytes))
    expect(verdicts).toEqual(['checkpoint k', 'repeated', `carried a at ${lost.at}`, 'repeated'])
  })

  test('count once also where the first copy is lost in one segment and the second carried by the next', () => {
    const { bytes, carried, end } = firstSegment()
    const rotten = Buffer.from(bytes)
    rotten[30] = (rotten[30] as number) ^ 1
    const fold = new JournalFold(0, end)
    expect(judgeAll(fold, 0, rotten).filter((verdict) => verdict.includes(' c '))).toHaveLength(1)
    fold.enter(end)
    expect(judgeAll(fold, end, LEAD_IN, checkpoint(end, 'k', { carries: 3 }), ...carried.map((one) => one.bytes))).not.toContainEqual(
      expect.stringContaining('carried c'),
    )
  })

  test('count also where the checkpoint in front of them has rotted: it covers them, but they do not stand on it', () => {
    const { bytes, carried, end } = firstSegment()
    const rotten = checkpoint(end, 'k', { carries: 3 })
    rotten[40] = (rotten[40] as number) ^ 1
    const fold = new JournalFold(0, end)
    // The sync of the first segment had failed, and then the power did.
    judgeAll(fold, 0, bytes.subarray(0, carried[1]?.at))
    fold.enter(end)
    const lines = carried.map((one) => one.bytes)
    expect(judgeAll(fold, end, LEAD_IN, rotten, ...lines, ...lines)).toEqual([
      'damage',
      'repeated',
      ...carried.slice(1).map(({ id, at }) => `carried ${id} at ${at}`),
      'repeated',
      'repeated',
      'repeated',
    ])
    expect(fold).toMatchObject({ root: undefined, ready: false, carriedFrom: carried[0]?.at })
  })

  test('count once however often they are carried on', () => {
    const { bytes, carried, end } = firstSegment()
    const fold = new JournalFold(0, end)
    judgeAll(fold, 0, bytes)
    const lines = carried.map((one) => one.bytes)
    for (let segment = end; segment < end + 8_000; segment += 1_000) {
      fold.enter(segment)
      const verdicts = judgeAll(fold, segment, LEAD_IN, checkpoint(segment, 'k', { carries: 3 }), ...lines)
      expect(verdicts).toEqual(['checkpoint k', 'repeated', 'repeated', 'repeated'])
    }
  })

  test('are lost races once a record was placed', () => {
    const { carried, end } = firstSegment()
    const fold = new JournalFold(end)
    const preamble = Buffer.concat([LEAD_IN, checkpoint(end, 'k')])
    const placed = groupAt(end + preamble.length, draft('placed'))
    const verdicts = judgeAll(fold, end, preamble, placed, LEAD_IN, ...carried.map(({ bytes }) => bytes))
    expect(verdicts.slice(2)).toEqual(['misplaced', 'misplaced', 'misplaced'])
  })

  test('do not become what the next record follows: the checkpoint covers them already', () => {
    const line = splitLines(groupAt(0, draft('gone')), 0).lines[1]?.bytes as Uint8Array
    const fold = new JournalFold(900)
    judgeAll(fold, 900, LEAD_IN, checkpoint(900, 'k', { carries: 1 }), line, NEWLINE)
    expect(fold).toMatchObject({ lastId: 'k', rooted: true })
  })
})

describe('a checkpoint whose maker died before every carried line was there', () => {
  const { carried, end } = firstSegment()
  const lines = carried.map(({ bytes }) => bytes)
  const head = checkpoint(end, 'k', { carries: 3 })

  test('sets nothing, and the segment takes no records yet', () => {
    const fold = new JournalFold(end)
    judgeAll(fold, end, LEAD_IN, head, ...lines.slice(0, 2))
    expect(fold).toMatchObject({ rooted: false, ready: false, root: undefined, prev: '', checkpointBytes: 0 })
  })

  test('is replaced by that of the next helper, and each carried line counts once', () => {
    const fold = new JournalFold(end)
    const half = [LEAD_IN, head, ...lines.slice(0, 2), (lines[2] as Buffer).subarray(0, 40)]
    const verdicts = judgeAll(fold, end, ...half, LEAD_IN, head, ...lines)
    expect(verdicts.filter((verdict) => verdict.startsWith('carried'))).toEqual(carried.map(({ id, at }) => `carried ${id} at ${at}`))
    expect(verdicts.filter((verdict) => verdict === 'damage')).toHaveLength(1)
    expect(fold).toMatchObject({ rooted: true, ready: true, lastId: 'k' })
  })

  test('is not completed by lines that the same maker wrote twice', () => {
    const fold = new JournalFold(end)
    judgeAll(fold, end, LEAD_IN, head, lines[0] as Buffer, lines[0] as Buffer, lines[0] as Buffer)
    expect(fold.rooted).toBe(false)
  })
})

describe('entering the next segment', () => {
  test('forgets the seal, the ids and the end, and keeps the chain', () => {
    const bytes = groupAt(0, draft('d', 'session.deleted'), draft('seal', 'segment.sealed', { why: 'size' }))
    const fold = new JournalFold(0)
    judgeAll(fold, 0, bytes)
    const { prev } = fold
    fold.enter(bytes.length)
    expect(fold).toMatchObject({
      segment: bytes.length,
      end: bytes.length,
      seal: undefined,
      fresh: true,
      ready: false,
      rooted: true,
      prev,
    })
  })

  test('a segment without an intact checkpoint takes no records until one stands in it, or records do', () => {
    const fold = new JournalFold(0)
    const bytes = groupAt(0, draft('a'), draft('seal', 'segment.sealed', { why: 'size' }))
    judgeAll(fold, 0, bytes)
    fold.enter(bytes.length)
    expect(fold.ready).toBe(false)
    judgeAll(fold, bytes.length, groupAt(bytes.length, draft('b')))
    expect(fold.ready).toBe(true)
  })
})
