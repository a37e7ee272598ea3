import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { decodeLine, encodeBody, Group, intactCrc, isBlank, isOfOtherType, splitLines } from './line.ts'

/** A line with a checksum that fits, whatever it says. */
function sealed(text: string | Buffer): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([bytes, Buffer.from(`,"crc":"${crc32(bytes).toString(16).padStart(8, '0')}"}`)])
}

function line(): Buffer {
  const group = new Group(0, '')
  group.add(encodeBody({ id: 'one', at: '2026-11-15T09:30:00.123Z', type: 'messages.appended', payload: { text: 'héllo 🦀', n: [1, 2] } }))
  return group.bytes.subarray(2, -1)
}

function flip(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[bit >>> 3] = (copy[bit >>> 3] as number) ^ (1 << (bit & 7))
  return copy
}

describe('a line is blank', () => {
  test.each([
    ['', true],
    [' ', true],
    ['  ', false],
    ['\t', false],
    ['\r', false],
    ['\0', false],
    ['{}', false],
    [' {}', false],
  ])('%j: %s', (text, blank) => {
    expect(isBlank(Buffer.from(text))).toBe(blank)
    expect(decodeLine(Buffer.from(text)).kind).toBe(blank ? 'blank' : 'damage')
  })
})

describe('a line is intact', () => {
  test('with the checksum of all bytes in front of it, and without it it is not', () => {
    expect(intactCrc(sealed('{"a":1'))).toMatch(/^[0-9a-f]{8}$/)
    expect(intactCrc(Buffer.from('{"a":1,"crc":"00000000"}'))).toBeUndefined()
  })

  test('and no longer so with any bit flipped', () => {
    const bytes = line()
    expect(decodeLine(bytes).kind).toBe('record')
    for (let bit = 0; bit < bytes.length * 8; bit++) expect(decodeLine(flip(bytes, bit)).kind, `bit ${bit}`).toBe('damage')
  })

  test('and no longer so cut at any length, at either end', () => {
    const bytes = line()
    for (let length = 1; length < bytes.length; length++) {
      expect(decodeLine(bytes.subarray(0, length)).kind, `the first ${length} bytes`).toBe('damage')
      expect(decodeLine(bytes.subarray(length)).kind, `without the first ${length} bytes`).toBe('damage')
    }
  })

  test.each([
    ['a space in front, as the lead-in would leave it', (bytes: Buffer) => Buffer.concat([Buffer.from(' '), bytes])],
    ['a space behind, as the lead-in leaves it', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from(' ')])],
    ['a carriage return behind', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('\r')])],
    ['a byte order mark in front', (bytes: Buffer) => Buffer.concat([Buffer.from('\ufeff'), bytes])],
    ['itself behind it', (bytes: Buffer) => Buffer.concat([bytes, bytes])],
    [
      'its checksum in capitals',
      (bytes: Buffer) => Buffer.from(bytes.toString().replace(/"[0-9a-f]{8}"}$/, (crc) => crc.toUpperCase().replace(/[0-9]/g, 'A'))),
    ],
  ])('and no longer so with %s', (_, change) => {
    expect(intactCrc(change(line()))).toBeUndefined()
  })

  test('only if it begins with a brace, even where the checksum fits', () => {
    expect(intactCrc(sealed('["a":1'))).toBeUndefined()
    expect(intactCrc(sealed(' {"a":1'))).toBeUndefined()
    expect(intactCrc(sealed(''))).toBeUndefined()
  })

  test('also as a view into a larger buffer', () => {
    const bytes = line()
    const larger = Buffer.concat([Buffer.from('abc'), bytes, Buffer.from('def')])
    expect(decodeLine(new Uint8Array(larger.buffer, larger.byteOffset + 3, bytes.length))).toEqual(decodeLine(bytes))
  })
})

describe('damage is told apart by how it looks', () => {
  test.each([
    ['a fragment that the next lead-in has ended', Buffer.from('{"v":1,"id":"one","at":"20 '), 'torn'],
    ['a whole line that the next lead-in has spoiled', Buffer.concat([line(), Buffer.from(' ')]), 'torn'],
    ['a page that never reached the disk', Buffer.concat([line().subarray(0, 20), Buffer.alloc(40)]), 'zeros'],
    ['zeros with the end of a line behind them', Buffer.concat([Buffer.alloc(40), line().subarray(40)]), 'zeros'],
    ['zeros that the next lead-in has ended', Buffer.concat([Buffer.alloc(7), Buffer.from(' ')]), 'zeros'],
    ['a flipped bit', flip(line(), 400), 'rotten'],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x80]), 'rotten'],
  ])('%s', (_, bytes, as) => {
    expect(decodeLine(bytes)).toEqual({ kind: 'damage', as })
  })
})

describe('a line whose checksum fits and that is still no record is damage', () => {
  const whole = '{"v":1,"id":"a","at":"2026","type":"messages.appended","prev":"","pos":0'
  test('unlike this one', () => expect(decodeLine(sealed(whole)).kind).toBe('record'))
  test.each([
    ['it is not JSON', '{"v":1,"id":'],
    ['it has no version', whole.replace('"v":1,', '')],
    ['its version is zero', whole.replace('"v":1', '"v":0')],
    ['its version is half', whole.replace('"v":1', '"v":1.5')],
    ['its version is text', whole.replace('"v":1', '"v":"1"')],
    ['it has no id', whole.replace('"id":"a",', '')],
    ['its id is a number', whole.replace('"id":"a"', '"id":7')],
    ['it has no time', whole.replace('"at":"2026",', '')],
    ['it has no type', whole.replace('"type":"messages.appended",', '')],
    ['it has no position', whole.replace(',"pos":0', '')],
    ['its position is text', whole.replace('"pos":0', '"pos":"0"')],
    ['its position is beyond what numbers can tell apart', whole.replace('"pos":0', '"pos":9007199254740993')],
    ['it is a checkpoint without a base', whole.replace('messages.appended', 'checkpoint')],
  ])('%s', (_, text) => {
    expect(decodeLine(sealed(text))).toEqual({ kind: 'damage', as: 'rotten' })
  })
})

describe('a newer version', () => {
  const newer = sealed('{"v":3,"what":"unknown here"')

  test('is refused, not skipped, and says what would help', () => {
    const decode = () => decodeLine(newer)
    expect(decode).toThrow(HoldfastError)
    expect(decode).toThrow(expect.objectContaining({ code: 'UNSUPPORTED_VERSION', details: { found: 3, supported: 2 } }))
    expect(decode).toThrow('Use a newer Holdfast')
  })

  test('is refused only if the line is intact: rot must not look like the future', () => {
    for (let bit = 0; bit < newer.length * 8; bit++) expect(decodeLine(flip(newer, bit)).kind).toBe('damage')
    expect(decodeLine(Buffer.concat([newer, Buffer.from(' ')]))).toEqual({ kind: 'damage', as: 'torn' })
  })

  test('is not seen in a line of this version that lost one bit of its version', () => {
    const bytes = line()
    const at = bytes.indexOf('"v":2') + 4
    const three = flip(bytes, at * 8)
    expect(three.toString()).toContain('"v":3')
    expect(decodeLine(three)).toEqual({ kind: 'damage', as: 'rotten' })
  })
})

describe('bytes are split into lines', () => {
  const texts = (bytes: Uint8Array, at = 0) => splitLines(bytes, at).lines.map((one) => [one.at, Buffer.from(one.bytes).toString('latin1')])

  test('at newlines, and nothing else is one', () => {
    const others = '\r\v\f\x00\x1c\x1d\x1e\u0085\u2028\u2029'
    const { lines } = splitLines(Buffer.from(`${others}\n${others}\n`), 0)
    expect(lines.map((one) => Buffer.from(one.bytes).toString())).toEqual([others, others])
  })

  test('that know where in the journal they begin', () => {
    expect(texts(Buffer.from('a\n\n bc\n'), 1_000)).toEqual([
      [1_000, 'a'],
      [1_002, ''],
      [1_003, ' bc'],
    ])
  })

  test('and what stands behind the last newline is not there yet, even if it looks whole', () => {
    const half = Buffer.concat([Buffer.from(' \n'), line()])
    expect(splitLines(half, 10)).toEqual({ lines: [{ at: 10, bytes: Buffer.from(' ') }], next: 12 })
    expect(splitLines(Buffer.from('no newline'), 10)).toEqual({ lines: [], next: 10 })
    expect(splitLines(Buffer.alloc(0), 10)).toEqual({ lines: [], next: 10 })
    expect(splitLines(Buffer.concat([half, Buffer.from('\n')]), 10).next).toBe(10 + half.length + 1)
  })
})

test('a line tells its type without being read, unless it looks like none of ours', () => {
  const written = (id: string): Buffer => {
    const group = new Group(0, '')
    group.add(encodeBody({ id, at: '2026-11-15T09:30:00.123Z', type: 'commit.leased', payload: { archive: 1 } }))
    return group.bytes.subarray(2, -1)
  }
  const ours = written('0198a1b2-0000-7000-8000-000000000001')
  expect(isOfOtherType(ours, 'messages.appended')).toBe(true)
  expect(isOfOtherType(ours, 'commit.leased')).toBe(false)
  // One type may begin like another.
  expect(isOfOtherType(ours, 'commit.requested')).toBe(true)
  expect(isOfOtherType(written('short'), 'messages.appended')).toBe(false)
  expect(isOfOtherType(Buffer.from('{'), 'messages.appended')).toBe(false)
})
