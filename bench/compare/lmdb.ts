import { join } from 'node:path'
import { importFetched } from '../fetched.ts'
import type { Contender, Message, Sessions } from './contender.ts'

/** As much of the package as is used. */
interface Database {
  get(key: Key): unknown
  putSync(key: Key, value: unknown): void
  removeSync(key: Key): void
  getRange(range: { start?: Key; end?: Key; reverse?: boolean; limit?: number }): Iterable<{ readonly key: Key; readonly value: unknown }>
  transaction<T>(work: () => T): Promise<T>
  readonly flushed: PromiseLike<unknown>
  close(): Promise<void>
}
type Key = readonly (string | number)[]

const FETCHED = { name: 'lmdb', install: ['lmdb@3'] }
const LAST = Number.MAX_SAFE_INTEGER

export const lmdb: Contender = {
  name: 'lmdb',
  about:
    'a key for each message, each id and each session, one transaction for an append, then `flushed`; there is no full text, so a search reads everything; a full disk ends its process unless that listens for `unhandledRejection`, which it does here',
  keeps: 'sync',
  fetched: FETCHED,
  open: async (directory) => {
    const { open } = (await importFetched(FETCHED)) as { open(options: { path: string }): Database }
    // On a full disk it rejects promises that nobody can hold as well, which ends a process that does not listen for that.
    process.on('unhandledRejection', () => undefined)
    return new LmdbSessions(open({ path: join(directory, 'sessions.lmdb') }))
  },
}

/** Keys: ['message', session, n], ['id', session, id], ['session', id] → when, ['changed', when, session]. */
class LmdbSessions implements Sessions {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  append(session: string, message: Message): Promise<void> {
    return this.fill(session, [message])
  }

  async fill(session: string, messages: readonly Message[]): Promise<void> {
    await this.#database.transaction(() => this.#insert(session, messages))
    await this.#database.flushed
  }

  async messages(session: string, last?: number): Promise<Message[]> {
    const range = { start: ['message', session, LAST], end: ['message', session, 0], reverse: true }
    const rows = this.#database.getRange(last === undefined ? range : { ...range, limit: last })
    return Array.from(rows, ({ value }) => value as Message).reverse()
  }

  async list(limit: number): Promise<string[]> {
    const rows = this.#database.getRange({ start: ['changed', LAST], end: ['changed', 0], reverse: true, limit })
    return Array.from(rows, ({ key }) => key[2] as string)
  }

  async search(word: string, limit: number): Promise<string[]> {
    const found: string[] = []
    for (const { value } of this.#database.getRange({ start: ['message'], end: ['message~'] })) {
      const { id, content } = value as Message
      if (!content.includes(word)) continue
      found.push(id)
      if (found.length >= limit) break
    }
    return found
  }

  async fork(session: string, as: string): Promise<void> {
    const messages = await this.messages(session)
    await this.fill(as, messages)
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  #insert(session: string, messages: readonly Message[]): void {
    const [newest] = this.#database.getRange({ start: ['message', session, LAST], end: ['message', session, 0], reverse: true, limit: 1 })
    let n = newest === undefined ? 0 : (newest.key[2] as number)
    for (const message of messages) {
      if (this.#database.get(['id', session, message.id]) !== undefined) continue
      n++
      this.#database.putSync(['message', session, n], message)
      this.#database.putSync(['id', session, message.id], n)
    }
    const before = this.#database.get(['session', session])
    const when = performance.timeOrigin + performance.now()
    if (before !== undefined) this.#database.removeSync(['changed', before as number, session])
    this.#database.putSync(['session', session], when)
    this.#database.putSync(['changed', when, session], true)
  }
}
