/**
 * The other files of a store, with every bit flipped and at every length. An id file is derived: damage to it must be noticed before it
 * answers. The feed is derived too: damage to it costs at most a sweep, or a hint. `holdfast.json` is not derived: a damaged one is
 * refused.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/engine/clock.ts'
import { entryOf } from '../../src/engine/conformance/index.ts'
import { systemIds } from '../../src/engine/ids.ts'
import { isJournalName, journalName } from '../../src/engine/names.ts'
import { Feed } from '../../src/engines/files/feed.ts'
import { encodeEntries, findKey, RottenIdFile, readIdFile, writeIdFile } from '../../src/engines/files/id-file.ts'
import { identify } from '../../src/engines/files/identity.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'
import { hashKey } from '../../src/record/key-hash.ts'
import { memoryFile } from './memory-file.ts'
import { unsynced } from './on-disk.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-'))
})
afterEach(() => rm(directory, { recursive: true }))

function* everyFlip(bytes: Buffer): Generator<Buffer> {
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >>> 3] = (flipped[bit >>> 3] as number) ^ (1 << (bit & 7))
    yield flipped
  }
}

function* everyCut(bytes: Buffer): Generator<Buffer> {
  for (let length = 0; length < bytes.length; length++) yield bytes.subarray(0, length)
}

test('a damaged id file says that it is damaged, or answers as before', async () => {
  const entries = ['a', 'b', 'c'].map((key, n) => entryOf(key, { at: n * 100, end: n * 100 + 50, crc: '0badf00d' }))
  const file = memoryFile(Buffer.alloc(0))
  await writeIdFile(file, { first: 0, end: 1_000, count: entries.length }, [encodeEntries(entries)])
  const bytes = file.readSync(0, file.stat().size)
  const keys = [...entries.map(({ key }) => key), hashKey('message', 'absent')]
  const expected = JSON.stringify([...entries, undefined])
  const outcomes = { 'not whole': 0, rotten: 0, exact: 0, wrong: 0 }
  for (const damaged of [...everyFlip(bytes), ...everyCut(bytes)]) {
    const ids = await readIdFile(memoryFile(damaged))
    if (ids === undefined) outcomes['not whole']++
    else {
      try {
        outcomes[JSON.stringify(keys.map((key) => findKey(ids, Buffer.from(key, 'hex'), 0, 1_000))) === expected ? 'exact' : 'wrong']++
      } catch (error) {
        if (!(error instanceof RottenIdFile)) throw error
        outcomes.rotten++
      }
    }
  }
  // Every byte is under one checksum or another: of the block, of the footer, of the trailer.
  expect(outcomes).toEqual({ exact: 0, wrong: 0, rotten: 4_096 * 8, 'not whole': (bytes.length - 4_096) * 8 + bytes.length })
})

test('a damaged feed is a reset, or names journals; it never stops a reader', async () => {
  const feed = await Feed.open({
    disk: nodeDisk,
    clock: systemClock,
    ids: systemIds,
    directory: join(directory, 'feed'),
    fileBytes: 1_000,
    files: 2,
    isName: isJournalName,
  })
  const { cursor } = await feed.changes()
  for (const id of ['one', 'two', 'three']) await feed.announce(journalName('space', id))
  await feed.close()
  const path = join(directory, 'feed', (await readdir(join(directory, 'feed'))).find((name) => name.endsWith('.jsonl')) ?? '')
  const bytes = await readFile(path)
  let resets = 0
  for (const damaged of [...everyFlip(bytes), ...everyCut(bytes)]) {
    await writeFile(path, damaged)
    const { names, reset } = await feed.changes(cursor)
    expect(names.length).toBeLessThanOrEqual(4)
    expect(names.filter((name) => !isJournalName(name))).toEqual([])
    if (reset) resets++
  }
  expect(resets).toBeGreaterThan(bytes.length)
})

test('a damaged holdfast.json is refused, left as it is, and never taken for a newer one; no session is touched', async () => {
  await identify(nodeDisk, directory, 'store-1', '2026-11-15T09:30:00.000Z')
  await mkdir(join(directory, 'sessions'))
  const path = join(directory, 'holdfast.json')
  const bytes = await readFile(path)
  for (const damaged of [...everyFlip(bytes), ...everyCut(bytes)]) {
    await writeFile(path, damaged)
    await expect(identify(unsynced, directory, 'store-2', '')).rejects.toMatchObject({ code: 'DAMAGED' })
    expect(await readFile(path)).toEqual(damaged)
  }
  expect(await readdir(join(directory, 'sessions'))).toEqual([])
})
