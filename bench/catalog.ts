import { spawnSync } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openFilesEngine } from '../src/engines/files/engine.ts'
import { sessionReducer } from '../src/session/reducer.ts'
import { openStore } from '../src/store/open-store.ts'
import type { Store } from '../src/store/store.ts'
import { unsynced } from '../test/damage/on-disk.ts'
import { type Benchmark, figure, interleave, median, percentile, rateOf, ratios } from './harness.ts'
import { Prose } from './real-looking.ts'
import { TEXT } from './session.ts'

const PAGE = 50
const SESSION_MESSAGES = 50

/** A store that is filled without syncing: what is measured comes after. */
async function fill(directory: string, work: (store: Store) => Promise<void>): Promise<void> {
  const engine = await openFilesEngine({ directory, keysOf: sessionReducer.keysOf, disk: unsynced })
  const store = await openStore(engine)
  await work(store)
  await store.close()
  // As a store lies on its disk that was not written a moment ago.
  spawnSync('sync')
}

async function inTens(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i += 10) await Promise.all(Array.from({ length: Math.min(10, count - i) }, (_, j) => work(i + j)))
}

export const catalogList: Benchmark = {
  name: 'catalog-list',
  about: `Lists of a store with 100,000 sessions, in pages of ${PAGE}: the first page, and the thousandth against it; after each, one session changes.`,
  run: async ({ directory, quick }) => {
    const count = quick ? 5000 : 100_000
    const place = join(directory, 'sessions')
    await fill(place, (store) =>
      inTens(count, async (i) => {
        const description = { title: `Session ${i * 7919}`, tags: [`tag ${i % 50}`], owner: `owner ${i % 1000}` }
        await store.create({ id: `session ${i}`, ...description })
      }),
    )
    const store = await openStore(place)
    const started = performance.now()
    await store.list({ limit: 1 })
    const swept = performance.now() - started
    let cursor: string | null = null
    const pages = Math.min(999, Math.floor(count / PAGE) - 1)
    for (let page = 0; page < pages; page++) cursor = (await store.list({ limit: PAGE, ...(cursor === null ? {} : { cursor }) })).cursor
    const deep = cursor as string
    const times = await interleave(quick ? 20 : 200, {
      first: async () => {
        await store.session('session 1').describe({ title: `changed at ${performance.now()}` })
        return timed(() => store.list({ limit: PAGE }))
      },
      deep: () => timed(() => store.list({ limit: PAGE, cursor: deep })),
      owner: () => timed(() => store.list({ limit: PAGE, owner: 'owner 7' })),
      tag: () => timed(() => store.list({ limit: PAGE, tag: 'tag 7' })),
    })
    await store.close()
    return [
      figure('the first list, which looks at every session', 'ms', [swept]),
      figure('first page, after a change', 'ms', times.first, { is: 'at most', value: 10 }),
      figure('thousandth page, against the first', 'times', [median(times.deep) / median(times.first)], { is: 'at most', value: 2 }),
      figure('first page of one owner', 'ms', times.owner),
      figure('first page of one tag', 'ms', times.tag),
    ]
  },
}

export const catalogSearch: Benchmark = {
  name: 'catalog-search',
  about:
    'Full text over 1,000,000 messages of about 50 words: making the catalog anew, its size against the text, and 200 fixed queries of one to three words, ' +
    'a quarter of which are words that stand in more than a tenth of the messages.',
  run: async ({ directory, quick }) => {
    const count = quick ? 20_000 : 1_000_000
    const place = join(directory, 'sessions')
    const prose = new Prose(1)
    let textBytes = 0
    await fill(place, (store) =>
      inTens(count / SESSION_MESSAGES, async (i) => {
        const messages = Array.from({ length: SESSION_MESSAGES }, (_, j) => ({
          role: j % 2 === 0 ? 'user' : 'assistant',
          content: prose.message(),
        }))
        for (const { content } of messages) textBytes += content.length
        await store.session(`session ${i}`).append(messages)
      }),
    )
    const store = await openStore(place)
    const started = performance.now()
    await store.rebuildCatalog()
    const rate = (count * 1000) / (performance.now() - started)
    const times: number[] = []
    const common: number[] = []
    for (const [query, isCommon] of queriesOf(prose)) {
      const ms = await timed(() => store.search(query))
      times.push(ms)
      if (isCommon) common.push(ms)
    }
    await store.close()
    const size = await catalogBytes(place)
    return [
      figure('made anew', 'messages/s', [rate], { is: 'at least', value: 20_000 }),
      figure('size against the text', 'times', [size / textBytes], { is: 'at most', value: 1.2 }),
      figure('search, p95', 'ms', [percentile(times, 95)], { is: 'at most', value: 50 }),
      figure('search, median', 'ms', [median(times)]),
      figure('search for common words, p95', 'ms', [percentile(common, 95)]),
    ]
  },
}

/** Two hundred, the same ones each time, each with whether it is of common words. */
function queriesOf({ words }: Prose): [string, boolean][] {
  const queries: [string, boolean][] = []
  for (let i = 0; i < 200; i++) {
    const rare = words[200 + i * 53] as string
    const rarer = words[5000 + i * 31] as string
    const everywhere = words[i % 30] as string
    if (i % 4 === 0) queries.push([i % 8 === 0 ? everywhere : `${everywhere} ${words[(i + 7) % 30]}`, true])
    else if (i % 4 === 1) queries.push([rare, false])
    else if (i % 4 === 2) queries.push([`${rarer} ${everywhere}`, false])
    else queries.push([i % 8 === 3 ? `${rare} ${words[100 + i]}` : `"${everywhere} ${rare}"`, false])
  }
  return queries
}

async function catalogBytes(directory: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(directory)) if (name.startsWith('catalog.db.')) bytes += (await stat(join(directory, name))).size
  return bytes
}

export const catalogAppend: Benchmark = {
  name: 'catalog-append',
  about:
    'Durable appends of 1 KiB to one session and to many, while a catalog is kept up to date in the background, against appends without one.',
  run: async ({ directory, quick }) => {
    const milliseconds = quick ? 500 : 3000
    const off = await openStore(join(directory, 'off'))
    const on = await openStore(join(directory, 'on'))
    await on.list()
    on.keepCatalog()
    const one = (store: Store) => async (): Promise<number> => {
      const session = store.session('one')
      return rateOf(milliseconds, () => session.append({ role: 'user', content: TEXT }))
    }
    const many = (store: Store) => (): Promise<number> =>
      rateOf(milliseconds, () =>
        Promise.all(Array.from({ length: 64 }, async (_, i) => store.session(`many ${i}`).append({ role: 'user', content: TEXT }))),
      )
    const rates = await interleave(quick ? 2 : 7, { off: one(off), on: one(on), manyOff: many(off), manyOn: many(on) })
    await off.close()
    await on.close()
    const bar = { is: 'at least', value: 0.85 } as const
    return [
      figure('appends to one session with the catalog kept, against without', 'times', ratios(rates.on, rates.off), bar),
      figure('appends to 64 sessions with the catalog kept, against without', 'times', ratios(rates.manyOn, rates.manyOff), bar),
    ]
  },
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await call()
  return performance.now() - started
}
