import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Contender, Message, Sessions } from './contender.ts'

/** As many as an import puts into one record. */
const BATCH = 150

export const holdfast: Contender = {
  name: 'Holdfast',
  about: 'a store in a directory; `session.append` of a message with an id',
  keeps: 'sync',
  open: async (directory) => new HoldfastSessions(await openStore(directory)),
}

class HoldfastSessions implements Sessions {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  async append(id: string, message: Message): Promise<void> {
    const session = this.#store.session(id)
    await session.append(message)
  }

  async fill(id: string, messages: readonly Message[]): Promise<void> {
    const session = this.#store.session(id)
    for (let i = 0; i < messages.length; i += BATCH) await session.append(messages.slice(i, i + BATCH))
  }

  async messages(id: string, last?: number): Promise<Message[]> {
    const session = this.#store.session(id)
    const found: Message[] = []
    for (let before: string | undefined; ; ) {
      const page = await session.messages({ limit: last ?? BATCH, ...(before === undefined ? {} : { before }) })
      found.unshift(...page.messages.map(({ message }) => message as unknown as Message))
      before = page.messages[0]?.id
      if (!page.more || last !== undefined || before === undefined) return found
    }
  }

  async isDamaged(id: string): Promise<boolean> {
    return (await this.#store.session(id).damage()).length > 0
  }

  async list(limit: number): Promise<string[]> {
    return (await this.#store.list({ limit })).sessions.map(({ id }) => id)
  }

  async search(word: string, limit: number): Promise<string[]> {
    // What the index does not have yet is told as a lag: here it is to have everything, and the time that takes counts.
    for (;;) {
      const { hits, lag } = await this.#store.search(word, { limit })
      if (lag === null) return hits.flatMap(({ message }) => message ?? [])
    }
  }

  async fork(id: string, as: string): Promise<void> {
    await this.#store.session(id).fork({ id: as })
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}
