/**
 * A thread of LangGraph as a session. Beside the messages stand entries:
 *
 *   langgraph.checkpoints   [ns, checkpoint]           what a checkpoint is but for its values, and where those stand
 *                           [ns]                       the newest checkpoint of a namespace
 *   langgraph.values        [ns, checkpoint, channel]  the value of a channel, put by the checkpoint that changed it
 *   langgraph.writes        [ns, checkpoint, task]     what a task wrote
 *                           [ns, checkpoint, #page]    which tasks wrote something
 *
 * Everything that a call changes goes into one record, on the condition that the thread has not changed since it was looked at; if it has,
 * the call looks again. So two processes may work on one thread, and whoever dies leaves all of a checkpoint or nothing of it.
 */
import { createHash } from 'node:crypto'
import type { Json } from '../../record/record.ts'
import type { Entry } from '../../session/records.ts'
import {
  type AdapterSession,
  type AdapterStore,
  begun,
  entriesIn,
  entryIn,
  hasReason,
  ifKept,
  type OnDamage,
  shortened,
} from '../sessions.ts'
import type { Packed } from './packed.ts'

export const TAG = 'langgraph'
export const CHECKPOINTS = 'langgraph.checkpoints'
export const VALUES = 'langgraph.values'
export const WRITES = 'langgraph.writes'

/** Where the value of a channel stands: an entry, or the branch that ends with a message. */
export type ValueRef = { readonly entry: string } | { readonly message: string }

export interface CheckpointRow {
  readonly ns: string
  readonly id: string
  readonly parent: string | null
  readonly checkpoint: Packed
  readonly metadata: Packed
  readonly versions: Readonly<Record<string, string | number>>
  readonly values: Readonly<Record<string, ValueRef>>
}

/** What a call wants to be written. */
export interface Change {
  readonly entries: readonly Entry[]
  readonly messages?: readonly object[]
  readonly ids?: readonly string[]
  /** The message that these follow; null for none. */
  readonly parent?: string | null
}

export class Thread {
  readonly id: string
  readonly #store: AdapterStore
  readonly #onDamage: OnDamage | undefined
  #session: AdapterSession<object> | undefined
  /** As of the last call; another process may have gone on. */
  #version: string | undefined
  /** Calls of this process wait for each other: they would only lose races. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(store: AdapterStore, id: string, onDamage?: OnDamage) {
    this.#store = store
    this.id = id
    this.#onDamage = onDamage
  }

  get session(): AdapterSession<object> {
    this.#session ??= this.#store.session(this.id)
    return this.#session
  }

  /** The last value of an entry; undefined if there is none, or no thread. */
  async read<T>(channel: string, ...key: string[]): Promise<T | undefined> {
    const session = this.session
    return (await ifKept(() => entryIn(session, channel, keyOf(...key), this.#onDamage)))?.value as T | undefined
  }

  /** Checkpoints of all namespaces, the one put last first. */
  async *rows(): AsyncGenerator<CheckpointRow> {
    const session = this.session
    const entries = entriesIn(session, CHECKPOINTS, this.#onDamage)
    for (;;) {
      const next = await ifKept(() => entries.next())
      if (next === undefined || next.done === true) return
      const row = next.value.value as unknown as CheckpointRow | { readonly newest: string }
      if (!('newest' in row)) yield row
    }
  }

  /** Carries out a change that is decided on the thread as it is; undefined changes nothing. */
  change(decide: () => Promise<Change | undefined>): Promise<void> {
    const done = this.#queue.then(() => this.#change(decide))
    this.#queue = done.catch(() => undefined)
    return done
  }

  async #change(decide: () => Promise<Change | undefined>): Promise<void> {
    for (;;) {
      const session = this.session
      this.#version ??= await begun(this.#store, session, { tags: [TAG] })
      const change = await decide()
      if (change === undefined) return
      const { entries, messages = [], ids = [], parent } = change
      const options = { expect: this.#version }
      try {
        const { version, duplicate } =
          messages.length === 0
            ? await session.putEntries(entries, options)
            : await session.append(messages, { ...options, ids, entries, ...(parent === undefined ? {} : { parent }) })
        // A repeated call is told the version that it had made then.
        this.#version = duplicate ? undefined : version
        return
      } catch (error) {
        this.#version = undefined
        if (!hasReason(error, 'version') && !hasReason(error, 'deleted')) throw error
      }
    }
  }

  async delete(): Promise<void> {
    const session = this.session
    this.#version = undefined
    await ifKept(() => session.delete())
  }
}

export function keyOf(...parts: string[]): string {
  return shortened(JSON.stringify(parts))
}

export function digestOf(name: string, value: Json): string {
  return createHash('sha256')
    .update(JSON.stringify([name, value]))
    .digest('hex')
}
