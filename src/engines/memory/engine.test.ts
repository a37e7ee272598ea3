import { expect, test } from 'vitest'
import { conformance, draft, message, testKeysOf } from '../../engine/conformance/index.ts'
import { groupAt } from '../../engine/conformance/records.ts'
import { hashKey } from '../../record/key-hash.ts'
import { openMemoryEngine } from './engine.ts'

conformance(test, { open: async (keysOf) => ({ engine: openMemoryEngine({ keysOf }) }) })

function open() {
  const engine = openMemoryEngine({ keysOf: testKeysOf })
  return { engine, journal: engine.journal(engine.name('space', 'session')) }
}

const MOVED = { moved: true, placed: 0 }

test('a segment that has a successor takes no more bytes, even at its end', async () => {
  const { journal } = open()
  const group = Buffer.from(' \nx\n')
  await journal.append(0, 0, group)
  await journal.roll(4, group)
  expect(await journal.append(0, 4, group)).toEqual(MOVED)
  expect((await journal.read(0, 0))?.end).toBe(4)
})

test('a late helper does not bring a purged segment back', async () => {
  const { journal } = open()
  const group = Buffer.from(' \nx\n')
  await journal.append(0, 0, group)
  await journal.roll(4, group)
  await journal.roll(8, group)
  expect(await journal.purge(8)).toBe(8)
  await journal.roll(4, group)
  expect(await journal.segments()).toEqual([8])
})

test('a group without lead-in or newline is a mistake of its caller', async () => {
  const { journal } = open()
  await expect(journal.append(0, 0, Buffer.from('x\n'))).rejects.toThrow(TypeError)
  await expect(journal.append(0, 0, Buffer.from(' \nx'))).rejects.toThrow(TypeError)
  expect(await journal.segments()).toEqual([])
})

test('keys of a segment that is still written to cannot be looked up, those of a sealed one can, with or without a successor', async () => {
  const { journal } = open()
  const first = groupAt(0, '', message('key'))
  await journal.append(0, 0, first.bytes)
  await expect(journal.lookup([hashKey('message', 'key')], 0, 1)).rejects.toThrow(TypeError)
  const seal = groupAt(first.bytes.length, '', draft('segment.sealed', { why: 'size' }))
  await journal.append(0, first.bytes.length, seal.bytes)
  const [found] = await journal.lookup([hashKey('message', 'key')], 0, first.bytes.length + seal.bytes.length)
  expect(found?.at).toBe(first.places[0]?.at)
})

test('what a caller does to bytes that it was given does not reach the store', async () => {
  const { journal } = open()
  await journal.append(0, 0, Buffer.from(' \nabc\n'))
  for (const { bytes } of (await journal.read(0, 0))?.lines ?? []) bytes.fill(0)
  expect((await journal.read(0, 0))?.lines.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([' ', 'abc'])
})
