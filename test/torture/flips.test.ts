import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FLIPPED, flipBit, kindOf } from './flips.ts'

test.each([
  ['catalog.db.0123456789abcdef', 'catalog'],
  ['catalog.db.0123456789abcdef.left', 'catalog'],
  ['catalog.db.0123456789abcdef-wal', 'catalog log'],
  ['catalog.db.0123456789abcdef0000abcd.draft', 'catalog'],
  ['feed/00000001.abcdef.jsonl', 'feed'],
  ['sessions/ab/cd/talk-1/0000000000000000.ids', 'id file'],
  ['watermarks/ab.uuid', 'watermarks'],
  ['catalog.db.0123456789abcdef-shm', undefined],
  ['catalog.db', undefined],
  ['holdfast.json', undefined],
  ['sessions/ab/cd/talk-1/0000000000000000.jsonl', undefined],
])('%s is flipped as %s', (path, kind) => {
  expect(kindOf(path)).toBe(kind)
})

test('a flip changes one bit of a file of its kind, and of the next kind where there is none', () => {
  const store = mkdtempSync(join(tmpdir(), 'holdfast-flips-'))
  onTestFinished(() => rmSync(store, { recursive: true }))
  const ids = 'sessions/ab/cd/talk/0000000000000000.ids'
  const files = { [ids]: 'ids', 'watermarks/ab.u': 'mark', 'feed/1.jsonl': 'feed', 'sessions/ab/cd/talk/0000000000000000.jsonl': 'record' }
  mkdirSync(join(store, 'sessions/ab/cd/talk'), { recursive: true })
  mkdirSync(join(store, 'watermarks'))
  mkdirSync(join(store, 'feed'))
  const order = { which: 0.5, where: 0.99, bit: 3 }
  expect(flipBit(store, { ...order, file: 'feed' })).toBeUndefined()
  for (const [path, text] of Object.entries(files)) writeFileSync(join(store, path), text)
  writeFileSync(join(store, 'feed/epoch'), '')

  const flipped = FLIPPED.map((file) => flipBit(store, { ...order, file }))
  expect(flipped.map((flip) => flip?.file)).toEqual(['feed', 'feed', 'feed', 'id file', 'watermarks'])
  const textOf = (path: string): string => readFileSync(join(store, path), 'latin1')
  const last = (text: string): string => `${text.slice(0, -1)}${String.fromCharCode(text.charCodeAt(text.length - 1) ^ 8)}`
  expect(textOf(ids)).toBe(last('ids'))
  expect(textOf('watermarks/ab.u')).toBe(last('mark'))
  expect(textOf('feed/1.jsonl')).toBe(last('feed'))
  expect(textOf('sessions/ab/cd/talk/0000000000000000.jsonl')).toBe('record')
})
