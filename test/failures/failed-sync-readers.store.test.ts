/** Whoever only reads may be the one whose sync fails: what it has read is carried by it too, or it could never show it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Disk } from '../../src/engines/files/disk.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { ChangeReader } from '../../src/store/messages/follow.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { diskWith } from '../damage/disk-with.ts'

/** Two processes, as it were, on one store; the disk of one of them can be told to fail its syncs, and to make no file. */
async function twoOnOne(): Promise<{ mine: Store; theirs: Store; disk: { fails: boolean; makesNone: boolean } }> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  const state = { fails: false, makesNone: false }
  const unless = <T>(fails: boolean, real: () => Promise<T>): Promise<T> =>
    fails ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : real()
  const open: Disk['open'] = (path, mode) => unless(mode === 'create' && state.makesNone, () => nodeDisk.open(path, mode))
  const disk = diskWith({ open, syncDirectory: (path) => unless(state.fails, () => nodeDisk.syncDirectory(path)) }, (_, file) => ({
    sync: () => unless(state.fails, () => file.sync()),
  }))
  const engine = await openFilesEngine({ directory, disk, keysOf: sessionReducer.keysOf })
  const [mine, theirs] = [await openStore(engine), await openStore(directory, { limits: { segmentBytes: 1000 } })]
  onTestFinished(async () => {
    await Promise.all([mine.close(), theirs.close()])
    rmSync(directory, { recursive: true, force: true })
  })
  return { mine, theirs, disk: state }
}

async function say(store: Store, ...texts: string[]): Promise<void> {
  const session = store.session('s')
  for (const content of texts) await session.append({ role: 'user', content })
}

const LONG = 'long '.repeat(300)

test('F31 failed fsync: a follower whose sync failed in a segment that others have left goes on, and misses nothing', async () => {
  const { mine, theirs, disk } = await twoOnOne()
  await say(theirs, 'one')
  const over = new AbortController()
  const seen: unknown[] = []
  let cursor: string | undefined
  const follow = async (): Promise<void> => {
    const from = cursor === undefined ? { fromStart: true } : { after: cursor }
    for await (const change of mine.session('s').follow({ ...from, signal: over.signal })) {
      cursor = change.cursor
      seen.push(...change.messages.map(({ message }) => String(message.content).slice(0, 5)))
    }
  }
  const broken = expect(follow()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await expect.poll(() => seen, { timeout: 30_000 }).toEqual(['one'])
  disk.fails = true
  await say(theirs, 'two', LONG, 'three', LONG, 'four')
  await broken
  disk.fails = false
  const second = follow()
  await expect.poll(() => seen, { timeout: 30_000 }).toEqual(['one', 'two', 'long ', 'three', 'long ', 'four'])
  over.abort()
  await second
})

test('F31 failed fsync: what its writer sealed as uncertain, and died, a follower shows only once it is carried', async () => {
  const { mine, theirs, disk } = await twoOnOne()
  await say(mine, 'one')
  const { engine, replicas } = theirs.parts
  const held = replicas.of(engine.name('default', 's'))
  const reader = new ChangeReader(held, 0)
  // How many segments there were when each message was shown.
  const shown = async (): Promise<unknown[]> => {
    const all: unknown[] = []
    for await (const { messages } of reader.news())
      for (const { message } of messages) all.push([message.content, (await held.journal.segments()).length])
    return all
  }
  expect(await shown()).toEqual([['one', 1]])
  disk.fails = true
  disk.makesNone = true
  await expect(say(mine, 'two')).rejects.toMatchObject({ outcome: 'unknown' })
  await mine.parts.replicas.of(held.journal.name).replica.idle()
  expect(await held.journal.segments()).toHaveLength(1)
  expect(await shown()).toEqual([['two', 2]])
})

test('F31 failed fsync: a list that met one has everything again when the disk has recovered', async () => {
  const { mine, theirs, disk } = await twoOnOne()
  await say(theirs, 'one')
  expect((await mine.list()).sessions).toMatchObject([{ id: 's', totalMessageCount: 1 }])
  disk.fails = true
  await say(theirs, 'two')
  await mine.list().catch(() => undefined)
  disk.fails = false
  await say(theirs, 'three')
  expect((await mine.list()).sessions).toMatchObject([{ id: 's', status: 'ok', totalMessageCount: 3 }])
})
