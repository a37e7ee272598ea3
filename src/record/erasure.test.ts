import fc from 'fast-check'
import { expect, test } from 'vitest'
import { overwritten, type Path, partOf, rangeOf } from './erasure.ts'
import { decodeLine, encodeWithCrc } from './line.ts'

function lineOf(value: object): Buffer {
  return encodeWithCrc(JSON.stringify(value)).subarray(0, -1)
}

/** Every place of a value that has a value. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (value === null || typeof value !== 'object') return [path]
  return [path, ...Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, Array.isArray(value) ? Number(key) : key]))]
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce((inner, step) => (inner as Record<string, unknown>)[step as string], value)
}

test('the bytes of every value are found, whatever stands around it', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const value = JSON.parse(JSON.stringify(object)) as object
      const line = lineOf({ a: value, z: 1 })
      for (const path of pathsOf(value)) {
        const range = rangeOf(line, ['a', ...path])
        const text = line.subarray(range?.from, range?.to).toString()
        expect(JSON.parse(text)).toEqual(valueAt(value, path))
      }
    }),
  )
})

test('what is not there has no bytes', () => {
  const line = lineOf({ a: [1, { b: 2 }] })
  for (const path of [['b'], ['a', 2], ['a', 1, 'c'], ['a', 0, 'x'], ['a', 'x']]) expect(rangeOf(line, path)).toBeUndefined()
})

test('a line that is written over keeps its length, is intact, and differs in nothing else', () => {
  const record = {
    v: 1,
    id: 'r',
    at: 't',
    type: 'messages.appended',
    messages: [{ role: 'user', content: 'ä "secret" \\' }, { x: 1 }, {}],
    n: 0,
    prev: '',
    pos: 0,
  }
  const line = lineOf(record)
  const parts = [0, 1, 2].map((index) => partOf(line, ['messages', index], '{"role":"user"}', '{}'))
  const { bytes, crc } = overwritten(
    line,
    parts.filter((part) => part !== undefined),
  )
  expect(bytes.length).toBe(line.length)
  const decoded = decodeLine(bytes)
  expect(decoded).toMatchObject({ kind: 'record', crc, record: { messages: [{ role: 'user' }, {}, {}], n: 0 } })
  expect(bytes.includes('secret')).toBe(false)
})

test('a line of which only some bytes were written over is put right by writing them again', () => {
  const line = lineOf({ v: 1, id: 'r', at: 't', type: 'x', message: { text: 'a secret that is long enough' }, pos: 0 })
  const part = partOf(line, ['message'], '{"erased":true}', '{}')
  const parts = part === undefined ? [] : [part]
  const { bytes, crc } = overwritten(line, parts)
  for (let cut = 0; cut <= line.length; cut++) {
    for (const torn of [
      Buffer.concat([bytes.subarray(0, cut), line.subarray(cut)]),
      Buffer.concat([line.subarray(0, cut), bytes.subarray(cut)]),
    ]) {
      expect(overwritten(torn, parts)).toEqual({ bytes, crc })
    }
  }
})
