/**
 * A store in PostgreSQL against a loop of INSERTs on the same server, which is HOLDFAST_TEST_DATABASE_URL, or one that is started for the benchmark. What it measures is mostly the server's disk:
 * both sides wait for the same commits.
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { openStore } from '../src/store/open-store.ts'
import type { Store } from '../src/store/store.ts'
import { isForeign, sharedServer, startServer, stopProcess } from '../test/postgres/server.ts'
import { type Benchmark, figure, interleave, median, percentile, rateOf, ratios } from './harness.ts'
import { Prose } from './real-looking.ts'
import { TEXT } from './session.ts'

const WRITER = fileURLToPath(new URL('./postgres-writer.js', import.meta.url))
const IN_FLIGHT = 32
const PAGE = 50
const SESSION_MESSAGES = 50

/**
 * Does something with a database that is there for it alone; or with the one that HOLDFAST_BENCH_DATABASE names, which is left as it is then: filling it takes a
 * quarter of an hour, and another run finds it filled.
 */
async function withDatabase<T>(directory: string, work: (url: string) => Promise<T>): Promise<T> {
  const kept = process.env.HOLDFAST_BENCH_DATABASE
  if (kept !== undefined) return work(kept)
  // The server has a user of its own, who has to reach its directory.
  await Promise.all([directory, dirname(directory)].map((path) => chmod(path, 0o755)))
  const server = isForeign()
    ? undefined
    : await startServer(join(directory, 'data'), ['-c', 'shared_buffers=512MB', '-c', 'max_wal_size=4GB'])
  const url = new URL(server?.url ?? (await sharedServer()))
  const name = `holdfast_bench_${randomBytes(6).toString('hex')}`
  const admin = new pg.Client({ connectionString: url.toString() })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  url.pathname = `/${name}`
  try {
    return await work(url.toString())
  } finally {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await admin.end()
    if (server !== undefined) await stopProcess(server.pid, 'SIGINT')
  }
}

export const postgresAppend: Benchmark = {
  name: 'postgres-append',
  about:
    `Durable appends of 1 KiB to a store in PostgreSQL: one caller, ${IN_FLIGHT} callers of as many sessions against a pipelined loop of INSERTs with ${IN_FLIGHT} under way, ` +
    'four processes with 64 sessions each against one session, and the appends of a long session against those of a short one.',
  run: async ({ directory, quick }) =>
    withDatabase(directory, async (url) => {
      const store = await openStore(url)
      const bare = new pg.Client({ connectionString: url, pipeline: true } as pg.ClientConfig)
      await bare.connect()
      await bare.query('CREATE TABLE bare (session text, position bigint, line text, PRIMARY KEY (session, position))')
      let position = 0
      const insert = () => bare.query({ name: 'insert', text: 'INSERT INTO bare VALUES ($1, $2, $3)', values: ['s', position++, TEXT] })
      const one = store.session('one')
      const sessions = await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => store.session(`many ${i}`)))
      const slice = quick ? 500 : 2000
      const append = (session: typeof one) => session.append({ role: 'user', content: TEXT })
      const together = async (work: (i: number) => Promise<unknown>) =>
        (await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => rateOf(slice, () => work(i))))).reduce((sum, rate) => sum + rate, 0)
      const rates = await interleave(quick ? 2 : 7, {
        bare: () => together(insert),
        many: () => together((i) => append(sessions[i] as typeof one)),
        one: () => rateOf(slice, () => append(one)),
        processes: () => processes(url, 4, slice),
      })
      const lengths = await byLength(url, quick ? 2000 : 100_000)
      await bare.end()
      await store.close()
      return [
        figure('pipelined INSERTs', 'appends/s', rates.bare),
        figure('Holdfast, as many callers', 'appends/s', rates.many),
        figure('Holdfast against the INSERTs', 'times', ratios(rates.many, rates.bare), { is: 'at least', value: 0.6 }),
        figure('Holdfast, one session', 'appends/s', rates.one),
        figure('64 sessions in each of 4 processes, against one session', 'times', ratios(rates.processes, rates.one), {
          is: 'at least',
          value: 3,
        }),
        figure('an append to a long session, against a short one', 'times', [lengths], { is: 'at most', value: 1.3 }),
      ]
    }),
}

/** Processes that append to sessions of their own; all of them together. */
async function processes(url: string, count: number, milliseconds: number): Promise<number> {
  const rates = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const child = fork(WRITER, [url, String(i), String(milliseconds)])
      const [rate] = await once(child, 'message')
      await once(child, 'exit')
      return rate as number
    }),
  )
  return rates.reduce((sum, rate) => sum + rate, 0)
}

/** How much longer an append takes in a session of so many messages than in one of a hundred. */
async function byLength(url: string, messages: number): Promise<number> {
  const store = await openStore(url)
  const [short, long] = [store.session('short'), store.session('long')]
  const batch = Array.from({ length: 100 }, () => ({ role: 'user', content: 'x'.repeat(100) }))
  await short.append(batch)
  for (let i = 0; i < messages; i += 100) await long.append(batch)
  const times = await interleave(5, {
    short: () => timed(async () => void (await repeated(50, () => short.append({ role: 'user', content: TEXT })))),
    long: () => timed(async () => void (await repeated(50, () => long.append({ role: 'user', content: TEXT })))),
  })
  await store.close()
  return median(ratios(times.long, times.short))
}

async function repeated(times: number, work: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < times; i++) await work()
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

export const postgresCatalog: Benchmark = {
  name: 'postgres-catalog',
  about: `Lists of 100,000 sessions in pages of ${PAGE}, and searches of 1,000,000 messages, of a store in PostgreSQL.`,
  run: async ({ directory, quick }) =>
    withDatabase(directory, async (url) => {
      const prose = new Prose(1)
      const [listed, searched] = quick ? [1000, 5000] : [100_000, 1_000_000]
      const lists = await openStore(`${url}?schema=lists`)
      const isListed = (await lists.list({ limit: 1, count: true })).total === listed
      if (!isListed)
        await inCrowds(listed, (i) => lists.create({ id: `session ${i}`, title: `Session ${i * 7919}`, owner: `owner ${i % 1000}` }))
      await lists.list({ limit: 1 })
      const first: number[] = []
      for (let i = 0; i < 50; i++) first.push(await timed(() => lists.list({ limit: PAGE })))
      await lists.close()
      const texts = await openStore(`${url}?schema=texts`)
      const isThere = (await texts.list({ limit: 1, count: true })).total === searched / SESSION_MESSAGES
      const rate = isThere ? undefined : await fill(texts, searched, prose)
      const found: number[] = []
      for (let i = 0; i < 200; i++) found.push(await timed(() => texts.search(queryOf(prose, i))))
      await texts.close()
      return [
        figure('first page', 'ms', first, { is: 'at most', value: 15 }),
        ...(rate === undefined ? [] : [figure('text put', 'messages/s', [rate])]),
        figure('search, p95', 'ms', [percentile(found, 95)], { is: 'at most', value: 80 }),
        figure('search, median', 'ms', [median(found)]),
      ]
    }),
}

/** Messages in sessions of fifty, and their text in the catalog. Tells how many messages a second that took. */
async function fill(store: Store, messages: number, prose: Prose): Promise<number> {
  await inCrowds(messages / SESSION_MESSAGES, async (i) =>
    store.session(`session ${i}`).append(Array.from({ length: SESSION_MESSAGES }, () => ({ role: 'user', content: prose.message() }))),
  )
  const started = performance.now()
  await store.rebuildCatalog()
  return (messages * 1000) / (performance.now() - started)
}

async function inCrowds(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i += 64) await Promise.all(Array.from({ length: Math.min(64, count - i) }, (_, j) => work(i + j)))
}

/** One of two hundred questions: of common words, of rare ones, of both, and of words in a row. */
function queryOf({ words }: Prose, i: number): string {
  const [everywhere, rare, rarer] = [words[i % 30], words[200 + i * 53], words[5000 + i * 31]]
  return [everywhere, rare, `${rarer} ${everywhere}`, `"${everywhere} ${rare}"`][i % 4] as string
}
