import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LIMITS } from '../../src/record/limits.ts'
import type { JsonObject } from '../../src/record/record.ts'
import type { OpenOptions } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import { CountingDisk, type Counts } from '../store/counting-disk.ts'
import { useDirectory } from '../store/directory.ts'

const directory = useDirectory()
const SMALL: OpenOptions = { limits: { segmentBytes: 8_000 } }

async function write(id: string, count: number, bytes: number, options: OpenOptions): Promise<void> {
  const store = await directory().open(options)
  const session = store.session<JsonObject>(id)
  for (let i = 0; i < count; i += 20) {
    const names = Array.from({ length: 20 }, (_, k) => `m${i + k}`)
    await session.append(
      names.map((name) => ({ content: name.padEnd(bytes, '.') })),
      { ids: names },
    )
    await session.putEntries([{ channel: 'c', key: `k${i % 200}`, value: 'x'.repeat(bytes) }])
  }
  await store.close()
  // Leaves it in a segment with room: what making the next one costs is no matter of one call.
  const roomy = await directory().open()
  await roomy.session<JsonObject>(id).append({ content: 'last' })
  await roomy.close()
}

type Work = (session: Session<JsonObject>) => Promise<unknown>

/** What some work takes in a process that has just started. */
async function cold(id: string, work: Work, before?: Work): Promise<Counts> {
  const counting = new CountingDisk()
  const store = await directory().open({ disk: counting.disk })
  const session = store.session<JsonObject>(id)
  await before?.(session)
  const counts = await counting.during(() => work(session))
  await store.close()
  return counts
}

const WORK: [string, Work][] = [
  ['an append', (session) => session.append({ content: 'x' })],
  ['an append with an id', (session) => session.append({ content: 'x' }, { ids: ['new'] })],
  ['an append under a key', (session) => session.append({ content: 'x' }, { key: 'new' })],
  ['a title', (session) => session.describe({ title: 'x' })],
  ['the newest page', (session) => session.messages({ limit: 20 })],
  ['the oldest page', (session) => session.messages({ limit: 20, from: 'start' })],
  ['a page in the middle', (session) => session.messages({ limit: 20, before: 'm100' })],
  ['an old message', (session) => session.message('m7')],
  ['an entry', (session) => session.entry('c', 'k20')],
  ['what there is to know', (session) => session.info()],
  ['a revert to an old message', (session) => session.revert({ message: 'm5' })],
  ['a fork', (session) => session.fork({ at: 'm5' })],
]

test('F33 slow resume of long sessions: what is asked of the disk does not grow with the history', async () => {
  await write('short', 200, 100, SMALL)
  await write('long', 4000, 100, SMALL)
  for (const [what, work] of WORK) {
    const [short, long] = [await cold('short', work), await cold('long', work)]
    // Twenty times the history. There may be some more id files to look into, and the last segment may be fuller.
    expect(long.calls, `${what}: calls`).toBeLessThan(short.calls + 20)
    expect(long.bytesRead, `${what}: bytes`).toBeLessThan(short.bytesRead + 25_000)
    expect(long.bytesWritten, `${what}: bytes written`).toBeLessThan(short.bytesWritten + 5_000)
  }
})

test('F33 slow resume of long sessions: a process that has the session open reads none of its history again', async () => {
  await write('long', 2000, 100, SMALL)
  for (const [what, work] of WORK.slice(0, 4)) {
    const { calls, bytesRead } = await cold('long', work, (session) => session.append({ content: 'y' }, { ids: [`warm ${what}`] }))
    expect(calls, what).toBeLessThan(10)
    expect(bytesRead, what).toBeLessThan(9_000)
  }
})

test('F37 the event loop stalls on disk work: between two of its turns lies at most a part of a long session', async () => {
  const total = 2000
  const segmentBytes = 256 * 1024
  await write('long', total, 1000, { limits: { segmentBytes } })
  const all: [string, Work][] = [
    ['a thousand messages', (session) => session.messages({ limit: 1000 })],
    ['a thousand from the start', (session) => session.messages({ limit: 1000, from: 'start' })],
    ['an append with an id', (session) => session.append({ content: 'x' }, { ids: ['new'] })],
    ['a look at all damage', (session) => session.damage()],
    ['every entry', (session) => drain(session.entries('c'), total)],
    ['every change', (session) => drain(session.follow({ fromStart: true }), total / 10)],
  ]
  for (const [what, work] of all) {
    // The id files are made again from all segments.
    for (const name of await readdir(directory().path, { recursive: true }))
      if (name.endsWith('.ids')) await rm(join(directory().path, name))
    const { mostSync, mostAsync, mostPerTurn, bytesRead } = await cold('long', work)
    expect(mostSync, what).toBeLessThanOrEqual(LIMITS.syncWriteBytes)
    expect(mostAsync, what).toBeLessThanOrEqual(LIMITS.readBytes)
    // A segment and what leads into the next; the history is eight of them.
    expect(mostPerTurn, what).toBeLessThan(2 * segmentBytes)
    expect(bytesRead, what).toBeGreaterThan(2 * segmentBytes)
  }
})

async function drain(items: AsyncGenerator<unknown>, count: number): Promise<void> {
  for (let i = 0; i < count && (await items.next()).done !== true; i++);
  await items.return(undefined)
}
