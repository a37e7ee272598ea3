/** What a store holds once everybody is done, as somebody sees it who opens it now; and whether what is derived agrees with it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { checkFile } from '../../src/catalog/sqlite/check.ts'
import { currentFile } from '../../src/catalog/sqlite/file.ts'
import { Worker } from '../../src/commit/worker.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import { HoldfastError } from '../../src/errors.ts'
import { LIMITS } from '../../src/record/limits.ts'
import type { Store } from '../../src/store/store.ts'
import { answersOf } from '../catalog/answers.ts'
import { Random } from '../simulation/random.ts'
import type { FinalSession } from './case.ts'
import { type Final, GONE, REPAIRED_US } from './check.ts'
import { type Found, type History, nowUs } from './history.ts'
import { damageIn } from './looking.ts'
import { tagOf } from './sessions.ts'
import { SlowModel } from './slow-model.ts'
import { readAll } from './wishes.ts'

/** Long enough for a search to read the end of every session. */
const LAG_MS = 30_000
const LAG_POLL_MS = 50
const REPAIR_POLL_MS = 200

/**
 * Looks at the catalog before it looks at anything else: nothing but the catalog itself may bring it up to date. But for sessions that were `harmed`: it does not know of
 * that before somebody writes to them, or reads all of them.
 */
export async function finalOf(
  store: Store,
  {
    leaseMs,
    directory,
    history: { harms, flips },
  }: { readonly leaseMs: number; readonly directory: string | undefined; readonly history: History },
): Promise<Final> {
  const flipped = Math.max(...flips.filter(({ file }) => file.startsWith('catalog')).map(({ to }) => to))
  const broken = directory === undefined ? [] : await brokenAfter(store, directory, flipped + REPAIRED_US)
  const harmed = new Set(harms.map(({ session }) => session))
  for (const id of harmed) await touch(store, id)
  const worker = new Worker(store, { model: new SlowModel(new Random(1)), leaseMs, attempts: 10_000 })
  await worker.drain()
  const catalog = [...broken, ...(await compareCatalogs(store))]
  // As often as a memory says that it comes from a message.
  const sources = new Map<string, string[]>()
  for (const memory of await store.memories()) {
    for (const { session, messages } of memory.sources) sources.set(session, [...(sources.get(session) ?? []), ...messages])
  }
  const sessions = new Map<string, FinalSession>()
  const unreadable: Found[] = []
  for (const status of ['ok', 'damaged', 'deleted'] as const) {
    for (let cursor: string | undefined; ; ) {
      const page = await store.list({ status, order: 'created', limit: LIMITS.pageSessions, ...(cursor === undefined ? {} : { cursor }) })
      for (const { id } of page.sessions) {
        if (id.startsWith('reborn-')) continue
        try {
          sessions.set(id, await sessionOf(store, id, status === 'deleted', sources.get(id) ?? []))
        } catch (error) {
          if (!(error instanceof HoldfastError)) throw error
          unreadable.push({ session: id, what: error.message })
        }
      }
      if (page.cursor === null) break
      cursor = page.cursor
    }
  }
  const unfinished: string[] = []
  for (const status of ['pending', 'running', 'failed', 'cancelled'] as const) {
    for (const { id, session } of await store.tasks({ status, limit: 100 })) {
      if (sessions.get(session)?.status === 'ok') unfinished.push(`task ${id} is ${status}`)
    }
  }
  return { sessions, catalog, damage: [...unreadable, ...(await damageIn(store))], unfinished }
}

/** What is still wrong in the file of the catalog at this moment, after a bit was flipped in it. Until then, whoever asks it questions may repair it. */
async function brokenAfter(store: Store, directory: string, until: number): Promise<string[]> {
  for (;;) {
    const isLate = nowUs() > until
    await store.list({ limit: 1 })
    const file = await currentFile(directory)
    const fault = file === undefined ? undefined : await checkFile(file)
    if (fault === undefined) return []
    if (isLate) return [`a minute after the last flip, the catalog is broken: ${fault}`]
    await sleep(REPAIR_POLL_MS)
  }
}

async function touch(store: Store, id: string): Promise<void> {
  const write = async (): Promise<unknown> => store.session(id).describe({ metadata: { touched: true } })
  const read = async (): Promise<void> => {
    for await (const _ of doctor(store, { session: id }));
  }
  for (const work of [write, read]) {
    // All of it was lost, or it was deleted, or it cannot be read any more, which is found out below.
    await work().catch((error: unknown) => {
      if (!(error instanceof HoldfastError)) throw error
    })
  }
}

/** A deleted one is restored to look into it: it can be until it is purged. */
async function sessionOf(store: Store, id: string, isDeleted: boolean, sources: readonly string[]): Promise<FinalSession> {
  const session = store.session(id)
  if (isDeleted) {
    try {
      await session.restore()
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      return GONE
    }
  }
  const { messageCount, parent, title } = await session.info()
  const { messages } = await readAll(session)
  const tags = messages.map(({ tag }) => tag)
  const archives: { number: number; tags: string[] }[] = []
  for (const { number } of await session.archives()) {
    archives.push({ number, tags: ((await session.archive(number))?.messages ?? []).map(({ message }) => tagOf(message)) })
  }
  const tagById = new Map(messages.map((message) => [message.id, message.tag]))
  const extracted = sources.map((one) => tagById.get(one) ?? one)
  const live = tags.slice(tags.length - messageCount)
  return { parent: parent?.session ?? null, status: isDeleted ? 'deleted' : 'ok', tags, archives, live, title, extracted }
}

/** A few words are enough: every text has the same ones, but for its tag. */
async function compareCatalogs(store: Store): Promise<string[]> {
  const behind: string[] = []
  const ask = async (): Promise<unknown> => {
    // What a search has not read yet is reported; here it is to have read everything.
    for (const until = performance.now() + LAG_MS; ; await sleep(LAG_POLL_MS)) {
      const { lag } = await store.search('writerx0n1i0')
      if (lag !== null && performance.now() < until) continue
      if (lag !== null) behind.push(`after ${LAG_MS} ms a search still lags behind by ${JSON.stringify(lag)}`)
      break
    }
    return answersOf(store, { words: ['writerx0n1i0', 'writerx1n2i0'] })
  }
  const [followed] = [await ask(), await store.rebuildCatalog()]
  const anew = await ask()
  if (isDeepStrictEqual(followed, anew)) return behind
  return behind.concat(differences(followed as Record<string, unknown>, anew as Record<string, unknown>))
}

function differences(one: Record<string, unknown>, other: Record<string, unknown>): string[] {
  return Object.keys(one)
    .filter((name) => !isDeepStrictEqual(one[name], other[name]))
    .map((name) => `${name} differ: ${JSON.stringify(one[name]).slice(0, 400)} … anew: ${JSON.stringify(other[name]).slice(0, 400)}`)
}
