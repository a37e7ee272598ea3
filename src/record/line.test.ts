import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from './limits.ts'
import { decodeLine, encodeBody, encodeCheckpoint, Group, LEAD_IN, splitLines } from './line.ts'
import type { Draft, RecordType } from './record.ts'
import { FORMAT_VERSION, isWrittenTwice, RECORD_TYPES, WRITTEN_TWICE } from './record.ts'

const AT = '2026-11-15T09:30:00.123Z'

function draft(type: RecordType = 'messages.appended', payload: Draft['payload'] = {}, id = 'record'): Draft {
  return { id, at: AT, type, payload }
}

/** What a reader makes of a group that stands at a position, blank lines apart. */
function readBack(bytes: Uint8Array, at: number) {
  const { lines, next } = splitLines(bytes, at)
  const records = lines.flatMap((line) => {
    const decoded = decodeLine(line.bytes)
    return decoded.kind === 'blank' ? [] : [{ ...decoded, at: line.at, end: line.at + line.bytes.length + 1 }]
  })
  return { records, next }
}

describe('a line', () => {
  /** Written by hand, with the checksum of another implementation: a change here makes every journal in the world unreadable. */
  const GOLDEN =
    '{"v":2,"id":"0198f000-0000-7000-8000-000000000001","at":"2026-11-15T09:30:00.123Z","type":"messages.appended",' +
    '"text":"héllo 🦀","parent":[4103,0],"prev":"9c1f02aa","pos":4711,"crc":"a35e4a58"}'

  test('has the bytes that the format says', () => {
    const group = new Group(4709, '9c1f02aa')
    const id = '0198f000-0000-7000-8000-000000000001'
    const place = group.add(encodeBody({ id, at: AT, type: 'messages.appended', payload: { text: 'héllo 🦀' }, parent: [4103, 0] }))
    expect(group.bytes.toString()).toBe(` \n${GOLDEN}\n`)
    expect(place).toEqual({ at: 4711, end: 4711 + Buffer.byteLength(GOLDEN) + 1, crc: 'a35e4a58' })
  })

  test('is read as the record that was written', () => {
    expect(decodeLine(Buffer.from(GOLDEN))).toEqual({
      kind: 'record',
      crc: 'a35e4a58',
      record: {
        v: 2,
        id: '0198f000-0000-7000-8000-000000000001',
        at: AT,
        type: 'messages.appended',
        text: 'héllo 🦀',
        parent: [4103, 0],
        prev: '9c1f02aa',
        pos: 4711,
        crc: 'a35e4a58',
      },
    })
  })

  test('of format 1 is read as it was written', () => {
    const first = GOLDEN.replace('"v":2', '"v":1').replace('"a35e4a58"', '"6981b1ed"')
    expect(decodeLine(Buffer.from(first))).toMatchObject({ kind: 'record', crc: '6981b1ed', record: { v: 1, text: 'héllo 🦀', pos: 4711 } })
  })

  test('of a checkpoint names the segment that it opens in place of a position', () => {
    const line = encodeCheckpoint({
      base: 262_144,
      id: '0198f000-0000-7000-8000-000000000002',
      at: '2026-11-15T09:31:00.000Z',
      prev: '9c1f02aa',
      carries: 0,
      state: { count: 3 },
    })
    expect(line.toString()).toBe(
      '{"v":2,"id":"0198f000-0000-7000-8000-000000000002","at":"2026-11-15T09:31:00.000Z","type":"checkpoint","base":262144,' +
        '"carries":0,"state":{"count":3},"prev":"9c1f02aa","crc":"753aba60"}\n',
    )
    expect(decodeLine(line.subarray(0, -1))).toMatchObject({ kind: 'record', crc: '753aba60', record: { base: 262_144, carries: 0 } })
  })

  test('keeps a checksum that begins with zeros at eight digits', () => {
    const find = (n: number): Buffer => {
      const group = new Group(0, '')
      group.add(encodeBody(draft('messages.appended', { n })))
      const [record] = readBack(group.bytes, 0).records
      expect(record?.kind).toBe('record')
      return record?.kind === 'record' && record.crc.startsWith('00') ? group.bytes : find(n + 1)
    }
    expect(find(0).toString()).toMatch(/,"crc":"00[0-9a-f]{6}"}\n$/)
  })
})

describe('a group', () => {
  test('begins with the lead-in, and each line names the byte where it begins', () => {
    for (const at of [0, 1, 262_143, 2 ** 40]) {
      const group = new Group(at, 'ffffffff')
      const places = [1, 20, 300].map((size) => group.add(encodeBody(draft('messages.appended', { text: 'x'.repeat(size) }, `r${size}`))))
      expect(group.bytes.subarray(0, 2)).toEqual(LEAD_IN)
      expect(group.bytes.length).toBe(group.length)
      const { records, next } = readBack(group.bytes, at)
      expect(next).toBe(at + group.length)
      expect(records.map(({ at, end }) => ({ at, end }))).toEqual(places.map(({ at, end }) => ({ at, end })))
      for (const [i, record] of records.entries())
        expect(record).toMatchObject({ kind: 'record', crc: places[i]?.crc, record: { pos: record.at } })
      expect(places[0]?.at).toBe(at + LEAD_IN.length)
    }
  })

  test('chains its lines: each carries the checksum of the one before', () => {
    const group = new Group(100, '00c0ffee')
    expect(group.prev).toBe('00c0ffee')
    const places = ['a', 'b', 'c'].map((id) => group.add(encodeBody(draft('messages.appended', {}, id))))
    const prevs = readBack(group.bytes, 100).records.map((record) => record.kind === 'record' && record.record.prev)
    expect(prevs).toEqual(['00c0ffee', places[0]?.crc, places[1]?.crc])
    expect(group.prev).toBe(places[2]?.crc)
  })

  test.each([...WRITTEN_TWICE] as RecordType[])('has two copies of %s, each in its own place, and is told of the first', (type) => {
    const group = new Group(50, 'aaaaaaaa')
    const place = group.add(encodeBody(draft(type, { key: 'value' }, 'twice')))
    group.add(encodeBody(draft('messages.appended', {}, 'next')))
    const records = readBack(group.bytes, 50).records.map((one) => (one.kind === 'record' ? { ...one.record, begins: one.at } : one))
    expect(records).toMatchObject([
      { id: 'twice', type, key: 'value', prev: 'aaaaaaaa', pos: 52, begins: 52 },
      { id: 'twice', type, key: 'value', prev: 'aaaaaaaa' },
      { id: 'next', prev: place.crc },
    ])
    expect(records[1]).toHaveProperty('pos', (records[1] as { begins: number }).begins)
    expect(place.at).toBe(52)
  })

  test('writes every other type once', () => {
    const once = RECORD_TYPES.filter((type) => !WRITTEN_TWICE.has(type))
    expect(once).toEqual(['messages.appended', 'message.replaced', 'entry.put', 'commit.leased', 'segment.sealed', 'checkpoint'])
    for (const type of once.filter((one) => one !== 'checkpoint')) {
      const group = new Group(0, '')
      group.add(encodeBody(draft(type)))
      expect(readBack(group.bytes, 0).records).toHaveLength(1)
    }
  })

  test('writes a type that this version does not know twice, as the rule says', () => {
    const group = new Group(0, '')
    group.add(encodeBody(draft('ghost.seen' as RecordType)))
    expect(readBack(group.bytes, 0).records).toHaveLength(2)
  })

  test('of format 1 had two copies of fewer types', () => {
    const twice = RECORD_TYPES.filter((type) => isWrittenTwice({ v: 1, type }))
    expect(twice).toHaveLength(7)
    expect(twice.every((type) => isWrittenTwice({ v: FORMAT_VERSION, type }))).toBe(true)
    expect(isWrittenTwice({ v: 1, type: 'session.described' })).toBe(false)
  })

  test('that belongs elsewhere is built again from the same bodies, with nothing but its end changed', () => {
    const body = encodeBody({ ...draft('messages.appended', { text: 'same' }), parent: [12, 3] })
    const [here, there] = [new Group(0, 'aaaaaaaa'), new Group(7_777, 'bbbbbbbb')]
    here.add(body)
    there.add(body)
    const same = body.length - 1 + LEAD_IN.length
    expect(there.bytes.subarray(0, same)).toEqual(here.bytes.subarray(0, same))
    expect(there.bytes.subarray(same).toString()).toMatch(/^,"parent":\[12,3\],"prev":"bbbbbbbb","pos":7779,"crc":"[0-9a-f]{8}"}\n$/)
    expect(readBack(there.bytes, 7_777).records).toMatchObject([{ kind: 'record', record: { text: 'same', parent: [12, 3], pos: 7_779 } }])
  })

  test('says beforehand whether a body fits, and one that does never passes the limit', () => {
    const half = encodeBody(draft('messages.appended', { text: 'x'.repeat(LIMITS.groupBytes / 2 - 1_000) }))
    const twice = encodeBody(draft('session.deleted', { text: 'x'.repeat(LIMITS.groupBytes / 4 + 1_000) }))
    const group = new Group(2 ** 47, 'ffffffff')
    expect(group.fits(half)).toBe(true)
    group.add(half)
    expect(group.fits(half)).toBe(true)
    expect(group.fits(twice)).toBe(false)
    group.add(half)
    expect(group.fits(half)).toBe(false)
    expect(group.length).toBeLessThanOrEqual(LIMITS.groupBytes)
  })
})

describe('a record that cannot be written', () => {
  /** The largest text that a record of this type may have. */
  function largest(type: RecordType): number {
    const most = LIMITS.recordBytes / (WRITTEN_TWICE.has(type) ? 2 : 1)
    let [low, high] = [most - 1_000, most]
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      try {
        encodeBody(draft(type, { text: 'x'.repeat(middle) }))
        low = middle
      } catch {
        high = middle
      }
    }
    return low
  }

  test.each(['messages.appended', 'commit.requested'] as const)('is refused before it has a place: %s', (type) => {
    const most = largest(type)
    const group = new Group(Number.MAX_SAFE_INTEGER - LIMITS.groupBytes, 'ffffffff')
    const parent = [Number.MAX_SAFE_INTEGER, LIMITS.messagesPerRecord] as const
    const body = encodeBody({ ...draft(type, { text: 'x'.repeat(most) }), parent })
    expect(group.fits(body)).toBe(true)
    group.add(body)
    // The limit is for what is written: both copies, with the longest stamps that there can be.
    expect(group.length).toBeLessThanOrEqual(LIMITS.recordBytes)
    expect(group.length).toBeGreaterThan(LIMITS.recordBytes - 500)
    // And a seal behind it, since a record of this size fills its segment.
    group.add(encodeBody(draft('segment.sealed', { why: 'new incarnation' }, '0198f000-0000-7000-8000-000000000002')))
    expect(group.length).toBeLessThanOrEqual(LIMITS.groupBytes)
    const over = () => encodeBody(draft(type, { text: 'x'.repeat(most + 1) }))
    expect(over).toThrow(HoldfastError)
    expect(over).toThrow(
      expect.objectContaining({
        code: 'PAYLOAD_TOO_LARGE',
        outcome: 'none',
        details: expect.objectContaining({ limit: LIMITS.recordBytes }),
      }),
    )
  })

  test('is counted in bytes, not in characters', () => {
    expect(() => encodeBody(draft('messages.appended', { text: '🦀'.repeat(LIMITS.recordBytes / 4) }))).toThrow('over the limit')
  })

  test.each(['v', 'id', 'at', 'type', 'parent', 'prev', 'pos', 'base', 'crc'])(
    'is a mistake of its caller if its payload has the field %s',
    (field) => {
      expect(() => encodeBody(draft('messages.appended', { [field]: 1 }))).toThrow(TypeError)
      expect(() => encodeBody(draft('messages.appended', { inside: { [field]: 1 } }))).not.toThrow()
    },
  )
})

test('the checksum covers every byte in front of it, across the seam of body and stamp', () => {
  const group = new Group(10, '12345678')
  const { crc } = group.add(encodeBody(draft('messages.appended', { text: 'é' })))
  const line = group.bytes.toString().trim()
  const covered = line.slice(0, line.lastIndexOf(',"crc":"'))
  expect(crc32(covered).toString(16).padStart(8, '0')).toBe(crc)
})
