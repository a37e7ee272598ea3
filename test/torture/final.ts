/** What a store holds once everybody is done, as somebody sees it who opens it now; and whether what is derived agrees with it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Worker } from '../../src/commit/worker.ts'
import { HoldfastError } from '../../src/errors.ts'
import { LIMITS } from '../../src/record/limits.ts'
import type { Store } from '../../src/store/store.ts'
import { answersOf } from '../catalog/answers.ts'
import { Random } from '../simulation/random.ts'
import { type Final, type FinalSession, GONE } from './check.ts'
import { damageIn } from './looking.ts'
import { tagOf } from './sessions.ts'
import { SlowModel } from './slow-model.ts'
import { messagesOf } from './wishes.ts'

/** Looks at the catalog before it looks at anything else: nothing but the catalog itself may bring it up to date. */
export async function finalOf(store: Store, leaseMs: number): Promise<Final> {
  const worker = new Worker(store, { model: new SlowModel(new Random(1)), leaseMs, attempts: 10_000 })
  await worker.drain()
  const catalog = await compareCatalogs(store)
  // As often as a memory says that it comes from a message.
  const sources = new Map<string, string[]>()
  for (const memory of await store.memories()) {
    for (const { session, messages } of memory.sources) sources.set(session, [...(sources.get(session) ?? []), ...messages])
  }
  const sessions = new Map<string, FinalSession>()
  for (const status of ['ok', 'damaged', 'deleted'] as const) {
    for (let cursor: string | undefined; ; ) {
      const page = await store.list({ status, order: 'created', limit: LIMITS.pageSessions, ...(cursor === undefined ? {} : { cursor }) })
      for (const { id } of page.sessions) sessions.set(id, await sessionOf(store, id, status === 'deleted', sources.get(id) ?? []))
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
  return { sessions, catalog, damage: await damageIn(store), unfinished }
}

/** A deleted one is restored to look into it: it can be until it is purged. */
async function sessionOf(store: Store, id: string, isDeleted: boolean, sources: readonly string[]): Promise<FinalSession> {
  const session = await store.session(id)
  if (isDeleted) {
    try {
      await session.restore()
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      return GONE
    }
  }
  const { messageCount, parent, title } = await session.info()
  const messages = await messagesOf(session)
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
  const ask = async (): Promise<unknown> => {
    // What a search has not looked at yet is told; here it is to have looked at everything.
    while ((await store.search('writerx0n1i0')).lag !== null) await sleep(50)
    return answersOf(store, { words: ['writerx0n1i0', 'writerx1n2i0'] })
  }
  const [followed] = [await ask(), await store.rebuildCatalog()]
  const anew = await ask()
  if (isDeepStrictEqual(followed, anew)) return []
  return differences(followed as Record<string, unknown>, anew as Record<string, unknown>)
}

function differences(one: Record<string, unknown>, other: Record<string, unknown>): string[] {
  return Object.keys(one)
    .filter((name) => !isDeepStrictEqual(one[name], other[name]))
    .map((name) => `${name} differ: ${JSON.stringify(one[name]).slice(0, 400)} … anew: ${JSON.stringify(other[name]).slice(0, 400)}`)
}
