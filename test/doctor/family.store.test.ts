/** What the check of a family costs, and how it is ended. */
import { expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { EngineWrapper } from '../../src/engine/engine-wrapper.ts'
import { JournalWrapper } from '../../src/engine/journal-wrapper.ts'
import type { Chunk, Engine, Journal } from '../../src/engine/port.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

/** Counts the bytes that are read, or waits with them. */
class WatchedEngine extends EngineWrapper {
  bytes = 0
  onRead: (() => Promise<void>) | undefined

  override journal(name: string): Journal {
    return new WatchedJournal(this.inner.journal(name), this)
  }
}

class WatchedJournal extends JournalWrapper {
  readonly #engine: WatchedEngine

  constructor(inner: Journal, engine: WatchedEngine) {
    super(inner)
    this.#engine = engine
  }

  override async read(segment: number, from: number, limit?: number): Promise<Chunk | undefined> {
    await this.#engine.onRead?.()
    const chunk = await this.inner.read(segment, from, limit)
    for (const { bytes } of chunk?.lines ?? []) this.#engine.bytes += bytes.length
    return chunk
  }
}

const text = 'x'.repeat(200)

async function opened(): Promise<{ store: Store; watched: WatchedEngine }> {
  const watched = new WatchedEngine(openMemoryEngine({ keysOf: sessionReducer.keysOf }))
  return { store: await openStore(watched as Engine), watched }
}

async function bytesRead({ store, watched }: { store: Store; watched: WatchedEngine }): Promise<number> {
  watched.bytes = 0
  for await (const finding of doctor(store)) expect(finding).toBeUndefined()
  return watched.bytes
}

/** How much all journals hold. */
async function bytesHeld(engine: Engine): Promise<number> {
  let bytes = 0
  for await (const name of engine.names()) {
    const journal = engine.journal(name)
    for (const segment of await journal.segments()) bytes += ((await journal.read(segment, segment))?.end ?? segment) - segment
  }
  return bytes
}

const FAMILIES: readonly [string, (store: Store, n: number) => Promise<void>][] = [
  [
    'forks of one session, each from another message',
    async (store, n) => {
      const session = store.session<object>('root')
      for (let i = 0; i < n; i++) {
        const { id } = await session.append({ role: 'user', content: text })
        await session.fork({ id: `f${i}`, at: id })
      }
    },
  ],
  [
    'a chain of forks',
    async (store, n) => {
      let session = store.session<object>('root')
      for (let i = 0; i < n; i++) {
        await session.append({ role: 'user', content: text })
        session = await session.fork({ id: `f${i}` })
      }
    },
  ],
  [
    'forks of forks',
    async (store, n) => {
      await store.session<object>('root').append({ role: 'user', content: text })
      for (let i = 0; i < n; i++) {
        const parent = store.session<object>(i < 10 ? 'root' : `f${i % 10}`)
        await (await parent.fork({ id: `f${i}` })).append({ role: 'user', content: text })
      }
    },
  ],
]

test.each(FAMILIES)('the check of %s reads each byte a few times, however many there are', async (_, make) => {
  const times: number[] = []
  for (const n of [40, 160]) {
    const { store, watched } = await opened()
    await make(store, n)
    const held = await bytesHeld(watched)
    times.push((await bytesRead({ store, watched })) / held)
    await store.close()
  }
  const [few, many] = times as [number, number]
  expect(many).toBeLessThan(1.2 * few)
})

test('a check ends at once when its signal is aborted, even inside of a read', async () => {
  const { store, watched } = await opened()
  for (const id of ['a', 'b', 'c']) await store.session(id).append({ role: 'user', content: text })
  const stop = new AbortController()
  watched.onRead = () => {
    stop.abort()
    return new Promise(() => undefined)
  }
  const check = doctor(store, { signal: stop.signal })
  await expect(check.next()).rejects.toThrow('aborted')
})

test('other work goes on while many small sessions are checked', async () => {
  const { store } = await opened()
  for (let i = 0; i < 300; i++) await store.session(`s${i}`).append({ role: 'user', content: text.repeat(20) })
  let turns = 0
  let done = false
  const count = (): void => {
    turns++
    if (!done) setImmediate(count)
  }
  setImmediate(count)
  for await (const finding of doctor(store)) expect(finding).toBeUndefined()
  done = true
  expect(turns).toBeGreaterThan(1)
  await store.close()
})
