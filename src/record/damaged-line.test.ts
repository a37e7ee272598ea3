import { expect, test } from 'vitest'
import { checksumOfDamaged } from './damaged-line.ts'
import { encodeBody, encodeCheckpoint, Group, intactCrc, type Line, splitLines } from './line.ts'

const ID = '01a1e8c4-611b-75d1-880d-ed240351f970'
const AT = '2026-11-17T09:09:06.459Z'

function record(): Line & { readonly crc: string } {
  const group = new Group(600, '731130d1')
  group.add(encodeBody({ id: ID, at: AT, type: 'session.described', payload: { title: 'two words' } }))
  const line = splitLines(group.bytes, 600).lines.at(-1) as Line
  return { ...line, crc: intactCrc(line.bytes) as string }
}

function spoiled({ at, bytes }: Line, change: (bytes: Buffer) => void): Line {
  const copy = Buffer.from(bytes)
  change(copy)
  return { at, bytes: copy }
}

test('every flipped bit of a record, but for its position, leaves a checksum for the next record to name', () => {
  const line = record()
  const position = Buffer.from(line.bytes).lastIndexOf('"pos":') + 6
  for (let byte = 0; byte < line.bytes.length; byte++) {
    if (byte >= position && byte < position + 3) continue
    for (let bit = 0; bit < 8; bit++)
      expect(
        checksumOfDamaged(
          spoiled(line, (bytes) => {
            bytes[byte] = (bytes[byte] as number) ^ (1 << bit)
          }),
        ),
        `bit ${bit} of byte ${byte}`,
      ).toBeDefined()
  }
})

test('the checksum is the one that was written while only one end of the record is spoiled', () => {
  const line = record()
  const half = line.bytes.length >> 1
  for (const change of [
    (bytes: Buffer) => bytes.fill('z', 0, half),
    (bytes: Buffer) => bytes.subarray(-18).fill('z'),
    (bytes: Buffer) => bytes.subarray(-2).fill('z'),
  ])
    expect(checksumOfDamaged(spoiled(line, change))).toBe(line.crc)
})

test('a page that was not written, a torn line, other text and a checkpoint leave none', () => {
  const line = record()
  const half = line.bytes.length >> 1
  for (const change of [
    (bytes: Buffer) => bytes.fill(0, half),
    (bytes: Buffer) => bytes.subarray(-1).fill(' '),
    (bytes: Buffer) => bytes.fill('z'),
  ])
    expect(checksumOfDamaged(spoiled(line, change))).toBeUndefined()
  const checkpoint = encodeCheckpoint({ base: 600, id: ID, at: AT, prev: '731130d1', carries: 0, unrooted: false, state: {} })
  expect(
    checksumOfDamaged(spoiled({ at: 600, bytes: checkpoint.subarray(0, -1) }, (bytes) => bytes.subarray(-20).fill('z'))),
  ).toBeUndefined()
})

test('the start of one line and the rest of another leave none after a torn line, but every flipped bit of a record still does', () => {
  const line = record()
  const start = Buffer.from(line.bytes.subarray(0, 60))
  const others = ['672a649c"}', 'crc":"672a649c"}', '"grants":[],"unknown":false},"prev":"2b392f91","crc":"30a449f5"}']
  for (const rest of others) {
    const mixed = { at: line.at, bytes: Buffer.concat([start, Buffer.from(rest)]) }
    expect(checksumOfDamaged(mixed), rest).toBeDefined()
    expect(checksumOfDamaged(mixed, true), rest).toBeUndefined()
  }
  const position = Buffer.from(line.bytes).lastIndexOf('"pos":') + 6
  for (let byte = 0; byte < line.bytes.length; byte++) {
    if (byte >= position && byte < position + 3) continue
    const flipped = spoiled(line, (bytes) => {
      bytes[byte] = (bytes[byte] as number) ^ 1
    })
    expect(checksumOfDamaged(flipped, true), `byte ${byte}`).toBeDefined()
  }
})
