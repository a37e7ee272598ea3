/**
 * LangGraph's checkpointers: an append is what one step of a graph does, which reads the newest checkpoint of a thread and puts the next one. The package is
 * loaded by who opens one, and not by the processes of the others.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BaseCheckpointSaver, Checkpoint } from '@langchain/langgraph-checkpoint'
import { importFetched } from '../fetched.ts'
import type { Contender, Message, Sessions } from './contender.ts'

type Saver = Pick<BaseCheckpointSaver, 'put' | 'getTuple'>
type SqliteSaver = Saver & {
  readonly db: { prepare(sql: string): { all(...values: unknown[]): unknown[] }; close(): void }
}

export const LANGGRAPH_SQLITE = {
  name: '@langchain/langgraph-checkpoint-sqlite',
  install: ['@langchain/langgraph-checkpoint-sqlite@1', '@langchain/core@1'],
}

export const langgraphSqlite: Contender = {
  name: 'LangGraph SQLite',
  about:
    '`@langchain/langgraph-checkpoint-sqlite`: a checkpoint with all messages for each append; it leaves syncing to the default of its SQLite, which in this mode is not to',
  keeps: 'write',
  fetched: LANGGRAPH_SQLITE,
  open: async (directory) => {
    await mkdir(directory, { recursive: true })
    const { SqliteSaver } = (await importFetched(LANGGRAPH_SQLITE)) as { SqliteSaver: { fromConnString(path: string): SqliteSaver } }
    const saver = SqliteSaver.fromConnString(join(directory, 'checkpoints.db'))
    // Makes its tables.
    await saver.getTuple({ configurable: { thread_id: '' } })
    return Threads.over(saver, {
      newest: (limit) => {
        const sql = 'SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY max(checkpoint_id) DESC LIMIT ?'
        return (saver.db.prepare(sql).all(limit) as { thread_id: string }[]).map((row) => row.thread_id)
      },
      close: () => saver.db.close(),
    })
  },
}

export const langgraphMemory: Contender = {
  name: 'LangGraph memory',
  about: '`MemorySaver`: the same in the memory of the process',
  keeps: 'memory',
  open: async () => {
    const { MemorySaver } = await import('@langchain/langgraph-checkpoint')
    const saver = new MemorySaver()
    const newestOf = (thread: string): string =>
      Object.keys(saver.storage[thread]?.[''] ?? {})
        .sort()
        .at(-1) ?? ''
    const newest = (limit: number): string[] =>
      Object.keys(saver.storage)
        .map((thread) => [thread, newestOf(thread)] as const)
        .sort(([, a], [, b]) => (a < b ? 1 : -1))
        .slice(0, limit)
        .map(([thread]) => thread)
    return Threads.over(saver, { newest, close: () => undefined })
  },
}

interface Rest {
  newest(limit: number): string[]
  close(): void
}

class Threads implements Sessions {
  readonly #saver: Saver
  readonly #rest: Rest
  readonly #newCheckpoint: (step: number) => Checkpoint
  #steps = 0

  private constructor(saver: Saver, rest: Rest, newCheckpoint: (step: number) => Checkpoint) {
    this.#saver = saver
    this.#rest = rest
    this.#newCheckpoint = newCheckpoint
  }

  static async over(saver: Saver, rest: Rest): Promise<Threads> {
    const { emptyCheckpoint, uuid6 } = await import('@langchain/langgraph-checkpoint')
    return new Threads(saver, rest, (step) => ({ ...emptyCheckpoint(), id: uuid6(step) }))
  }

  append(thread: string, message: Message): Promise<void> {
    return this.fill(thread, [message])
  }

  async fill(thread: string, messages: readonly Message[]): Promise<void> {
    const before = await this.messages(thread)
    const known = new Set(before.map(({ id }) => id))
    // As the reducer of messages does: what is there already is not added again.
    await this.#put(thread, [...before, ...messages.filter(({ id }) => !known.has(id))])
  }

  async messages(thread: string, last?: number): Promise<Message[]> {
    const tuple = await this.#saver.getTuple({ configurable: { thread_id: thread, checkpoint_ns: '' } })
    const { messages = [] } = (tuple?.checkpoint.channel_values ?? {}) as { messages?: Message[] }
    return last === undefined ? messages : messages.slice(-last)
  }

  async list(limit: number): Promise<string[]> {
    return this.#rest.newest(limit)
  }

  async search(word: string, limit: number): Promise<string[]> {
    const found: string[] = []
    for (const thread of this.#rest.newest(Number.MAX_SAFE_INTEGER)) {
      const messages = await this.messages(thread)
      found.push(...messages.filter(({ content }) => content.includes(word)).map(({ id }) => id))
      if (found.length >= limit) break
    }
    return found
  }

  async fork(thread: string, as: string): Promise<void> {
    await this.#put(as, await this.messages(thread))
  }

  async close(): Promise<void> {
    this.#rest.close()
  }

  async #put(thread: string, messages: readonly Message[]): Promise<void> {
    const step = ++this.#steps
    const checkpoint = { ...this.#newCheckpoint(step), channel_values: { messages }, channel_versions: { messages: step } }
    const config = { configurable: { thread_id: thread, checkpoint_ns: '' } }
    await this.#saver.put(config, checkpoint, { source: 'loop', step, parents: {} }, { messages: step })
  }
}
