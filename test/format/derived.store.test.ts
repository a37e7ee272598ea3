/** Derived files and what encrypted lines say in clear, read as docs/format.md describes them. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { newMasterKey } from '../../src/index.ts'
import { useDirectory } from '../store/directory.ts'
import { type IdEntry, keysOf, readFeed, readIdFile, readWatermarks } from './reader/derived.ts'
import type { DataKey } from './reader/encryption.ts'
import type { Counted } from './reader/journal.ts'
import { type JournalLine, judge, linesIn } from './reader/line.ts'
import { type FoundSession, StoreReader } from './reader/store.ts'
import { SCENARIOS } from './scenarios.ts'
import { sessionsIn } from './view.ts'

const directory = useDirectory()
const NO_DIGEST = '0'.repeat(32)

async function conversation(masterKey?: string): Promise<{ reader: StoreReader; found: FoundSession[] }> {
  const scenario = SCENARIOS['forks, forks of forks, and children'] as (typeof SCENARIOS)[string]
  await scenario(directory(), masterKey === undefined ? {} : { encryption: { masterKey } })
  const reader = new StoreReader(directory().path, masterKey)
  return { reader, found: sessionsIn(reader) }
}

describe.each([
  ['in clear', undefined],
  ['encrypted', newMasterKey()],
] as const)('%s', (_, masterKey) => {
  let reader: StoreReader
  let found: FoundSession[]

  beforeEach(async () => {
    const made = await conversation(masterKey)
    reader = made.reader
    found = made.found
  })

  function keyOf(name: string): DataKey | undefined {
    return masterKey === undefined ? undefined : reader.dataKey(name)
  }

  /** The last entry of each key in the records of a range of positions. */
  function entriesOf({ journal, name }: FoundSession, first: number, end: number): IdEntry[] {
    const dataKey = keyOf(name)
    const blinded = (key: string, digest: string) => (digest === NO_DIGEST ? digest : (dataKey?.blinded(key, digest) ?? digest))
    const all = journal.between(first, end - 1).flatMap((counted: Counted) =>
      keysOf(counted).map(({ key, index, digest }) => ({
        ...{ key, index, digest: blinded(key, digest) },
        ...{ at: counted.at, length: counted.end - counted.at, crc: counted.crc },
      })),
    )
    return all.sort((a, b) => compare(a.key, b.key) || b.at - a.at || b.index - a.index)
  }

  function compare(a: string, b: string): number {
    return a < b ? -1 : a > b ? 1 : 0
  }

  test('id files hold the keys of the sealed segments', () => {
    const files = found.flatMap((session) => {
      const folder = join(directory().path, 'sessions', session.name)
      const names = readdirSync(folder).filter((file) => file.endsWith('.ids'))
      return names.map((file) => ({ session, file, ids: readIdFile(readFileSync(join(folder, file))) }))
    })
    expect(files.length).toBeGreaterThan(2)
    for (const { session, file, ids } of files) {
      expect(ids?.first).toBe(Number.parseInt(file, 10))
      const expected = entriesOf(session, ids?.first ?? 0, ids?.end ?? 0)
      // Of one segment, an id file has the last entry of each key.
      const has = (one: IdEntry) => ids?.entries.some(({ key, at }) => key === one.key && at >= one.at)
      expect(expected.every(has)).toBe(true)
      expect(expected).toEqual(expect.arrayContaining([...(ids?.entries ?? [])]))
      expect(ids?.entries).toEqual([...(ids?.entries ?? [])].sort((a, b) => compare(a.key, b.key) || b.at - a.at || b.index - a.index))
      expect(ids?.entries.every(({ key }) => ids.mayHold(key))).toBe(true)
    }
    const filters = files.flatMap(({ ids }) =>
      Array.from({ length: 200 }, (_, i) => ids?.mayHold(crc32(`${i}`).toString(16).padStart(32, '9'))),
    )
    expect(filters.filter((may) => may === true).length).toBeLessThan(filters.length / 20)
  })

  test('watermarks name the last line that was acknowledged of each journal', () => {
    const folder = join(directory().path, 'watermarks')
    const files = readdirSync(folder).map((file) => ({ path: join(folder, file), read: readWatermarks(readFileSync(join(folder, file))) }))
    for (const { path, read } of files) {
      expect(read.header).toMatchObject({ watermarks: 2, store: reader.identity.store, inode: statSync(path).ino })
    }
    const marks = new Map(files.flatMap(({ read }) => [...read.marks]))
    for (const { name, journal } of found) {
      const last = journal.counted.at(-1) as Counted
      const mark = marks.get(name)?.toSorted((a, b) => b.end - a.end)[0]
      const end = reader.files(name).map(({ first, bytes }) => first + bytes.length)
      expect(mark).toMatchObject({ idHash: crc32(last.record.id), end: end.at(-1) })
    }
  })

  test('the feed names every journal that changed', () => {
    const folder = join(directory().path, 'feed')
    const lines = readdirSync(folder).filter((file) => file.endsWith('.jsonl'))
    const named = lines.flatMap((file) => readFeed(readFileSync(join(folder, file))))
    expect(new Set(named)).toEqual(new Set(reader.names()))
    expect(readdirSync(folder).filter((file) => /^epoch\.[0-9a-zA-Z-]+\.[0-9a-f]{16}$/.test(file))).toHaveLength(1)
  })
})

test('encrypted lines list the keys of their records, and checkpoints have the nonce of their text', async () => {
  const { reader, found } = await conversation(newMasterKey())
  let [listed, checkpoints] = [0, 0]
  for (const { name } of found) {
    const dataKey = reader.dataKey(name)
    for (const { first, bytes } of reader.files(name)) {
      for (const { bytes: line } of linesIn(bytes, first)) {
        const judged = judge(line)
        if (judged.kind !== 'line' || judged.line.sealed === undefined) continue
        const record = dataKey.open(judged.line, name) as JournalLine
        if (record.type === 'checkpoint') {
          const nonce = Buffer.from(judged.line.state as string, 'base64').subarray(0, 12)
          expect(nonce).toEqual(dataKey.stateNonce(record, JSON.stringify(record.state)))
          checkpoints++
        } else if (judged.line.keys !== undefined) {
          const keys = keysOf({ record, at: 0, end: 0, crc: '', isCarried: false })
          const shown = keys.map(({ key, index, digest }) => [key, index, digest === NO_DIGEST ? '' : dataKey.blinded(key, digest)])
          expect(judged.line.keys).toEqual(shown)
          listed++
        }
      }
    }
  }
  expect(listed).toBeGreaterThan(50)
  expect(checkpoints).toBeGreaterThan(5)
})
