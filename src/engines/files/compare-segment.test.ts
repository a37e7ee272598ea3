import { expect, test } from 'vitest'
import { encodeBody, Group, splitLines } from '../../record/line.ts'
import { compareSegment } from './compare-segment.ts'

function segmentOf(count: number, content = 'said'): Buffer {
  const group = new Group(0, '')
  for (let i = 0; i < count; i++) {
    const id = `01980000-0000-7000-8000-${String(i).padStart(12, '0')}`
    group.add(encodeBody({ id, at: '2026-11-15T09:30:00.123Z', type: 'messages.appended', payload: { content: `${content} ${i}` } }))
  }
  return group.bytes
}

/** The store's file after the patches and the rest are in it. */
function repaired(live: Buffer, wanted: Buffer): Buffer {
  const { patches, rest } = compareSegment(live, wanted)
  const bytes = Buffer.from(live)
  for (const { offset, was, bytes: fresh } of patches) {
    expect(live.subarray(offset, offset + was.length).equals(was)).toBe(true)
    bytes.set(fresh, offset)
  }
  return Buffer.concat([bytes, rest])
}

test('a segment that has the same beginning lacks nothing', () => {
  const [short, long] = [segmentOf(2), segmentOf(5)]
  expect(compareSegment(long, short)).toEqual({ patches: [], rest: Buffer.of() })
  expect(compareSegment(short, short)).toEqual({ patches: [], rest: Buffer.of() })
})

test('a segment that was cut anywhere lacks the rest', () => {
  const wanted = segmentOf(3)
  for (let cut = 0; cut <= wanted.length; cut++) {
    const live = wanted.subarray(0, cut)
    expect(compareSegment(live, wanted).patches).toEqual([])
    expect(repaired(live, wanted).equals(wanted)).toBe(true)
  }
})

test('a segment with one flipped byte anywhere becomes what the backup has', () => {
  const wanted = segmentOf(3)
  for (let at = 0; at < wanted.length; at++) {
    const live = Buffer.from(wanted)
    live[at] = (live[at] as number) ^ 0x01
    expect(repaired(live, wanted).equals(wanted), `byte ${at}`).toBe(true)
  }
})

test('a segment that became zeros and was cut becomes what the backup has', () => {
  const wanted = segmentOf(4)
  const live = Buffer.from(wanted.subarray(0, wanted.length - 100))
  live.fill(0, 60)
  expect(repaired(live, wanted).equals(wanted)).toBe(true)
})

test('a patch covers damaged lines only, and counts the records that it brings back', () => {
  const wanted = segmentOf(4)
  const { lines } = splitLines(wanted, 0)
  const line = lines.filter(({ bytes }) => bytes.length > 1)[2] as (typeof lines)[number]
  const live = Buffer.from(wanted)
  live.fill(0x58, line.at + 20, line.at + 30)
  const { patches } = compareSegment(live, wanted)
  expect(patches).toMatchObject([{ offset: line.at, lines: 1 }])
  expect(patches[0]?.bytes.length).toBe(line.bytes.length + 1)
})

test('a segment with another intact record is a conflict, and nothing is to be changed', () => {
  const [wanted, live] = [segmentOf(4), Buffer.concat([segmentOf(2), segmentOf(4, 'othr').subarray(segmentOf(2).length)])]
  const { patches, rest, conflict } = compareSegment(live, wanted)
  expect({ patches, rest }).toEqual({ patches: [], rest: Buffer.of() })
  expect(conflict).toBeGreaterThanOrEqual(segmentOf(2).length)
})

test('a segment that was cut and continued with a record of its own is a conflict', () => {
  const [wanted, start] = [segmentOf(4), segmentOf(2)]
  const group = new Group(start.length, 'aaaaaaaa')
  group.add(encodeBody({ id: '01980000-0000-7000-8000-999999999999', at: '2026-11-15T09:30:00.123Z', type: 'x', payload: {} } as never))
  for (const cut of [0, 30]) {
    const live = Buffer.concat([start.subarray(0, start.length - cut), group.bytes])
    expect(compareSegment(live, wanted).conflict).toBeDefined()
  }
})

test('a line that is damaged in the backup leaves the line of the store as it is', () => {
  const live = segmentOf(3)
  const wanted = Buffer.from(live)
  wanted[live.length - 40] = 0x58
  expect(compareSegment(live, wanted)).toEqual({ patches: [], rest: Buffer.of() })
})

test('a line that an erasure has not reached yet is accepted as it was', () => {
  const former = segmentOf(3)
  const wanted = segmentOf(3, 'gone')
  expect(compareSegment(former, wanted, former)).toEqual({ patches: [], rest: Buffer.of() })
  expect(compareSegment(former, wanted).conflict).toBeDefined()
})
