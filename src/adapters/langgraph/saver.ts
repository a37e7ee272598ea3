/**
 * The checkpointer of LangGraph on Holdfast: a thread is a session. A checkpoint stores the channels that changed and refers to the others
 * where they stand; the messages of the thread are messages of the session, so it can be read, searched and windowed like any other.
 */

import { isDeepStrictEqual } from 'node:util'
import type { RunnableConfig } from '@langchain/core/runnables'
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
} from '@langchain/langgraph-checkpoint'
import { HoldfastError } from '../../errors.ts'
import type { Json } from '../../record/record.ts'
import type { Entry } from '../../session/records.ts'
import { plainOf } from '../langchain/message.ts'
import type { AdapterStore, DamageOptions, OnDamage } from '../sessions.ts'
import { commonLength, MessageLists, messagesOf, NO_MESSAGES, textsOf } from './message-list.ts'
import { type Packed, pack, unpack } from './packed.ts'
import { prune } from './prune.ts'
import { CHECKPOINTS, type Change, type CheckpointRow, digestOf, keyOf, TAG, Thread, VALUES, type ValueRef } from './thread.ts'
import { putWrites, readWrites } from './writes.ts'

export interface HoldfastSaverOptions extends DamageOptions {
  /** A store that was opened, or one at a server. */
  readonly store: AdapterStore
  /** The channel whose messages are those of the session; `messages` unless told. */
  readonly messagesChannel?: string
  readonly serde?: SerializerProtocol
}

export interface PruneOptions {
  /** `keep_latest` unless told: the newest checkpoint of each namespace, and what it rests on. `delete`: the whole thread. */
  readonly strategy?: 'keep_latest' | 'delete'
}

/** Threads that one process keeps at hand; a thread holds next to nothing. */
const THREADS = 1000

export class HoldfastSaver extends BaseCheckpointSaver {
  readonly #store: AdapterStore
  readonly #onDamage: OnDamage | undefined
  readonly #messagesChannel: string
  readonly #lists: MessageLists
  readonly #threads = new Map<string, Thread>()

  constructor({ store, messagesChannel = 'messages', serde, onDamage }: HoldfastSaverOptions) {
    super(serde)
    this.#lists = new MessageLists({ onDamage })
    this.#store = store
    this.#onDamage = onDamage
    this.#messagesChannel = messagesChannel
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id: id, checkpoint_ns: ns = '' } = config.configurable ?? {}
    if (id === undefined) return undefined
    const thread = this.#thread(id)
    const checkpoint = getCheckpointId(config) || (await newestOf(thread, ns))
    const row = checkpoint === undefined ? undefined : await thread.read<CheckpointRow>(CHECKPOINTS, ns, checkpoint)
    return row === undefined ? undefined : this.#tuple(thread, row)
  }

  /** Newest first, thread by thread. */
  async *list(config: RunnableConfig, { limit, before, filter = {} }: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id: id, checkpoint_ns: ns, checkpoint_id: only } = config.configurable ?? {}
    const limited = before === undefined ? '' : getCheckpointId(before)
    let left = limit ?? Number.POSITIVE_INFINITY
    for await (const thread of id === undefined ? this.#all() : [this.#thread(id)]) {
      const rows: CheckpointRow[] = []
      for await (const row of thread.rows()) {
        if ((ns === undefined || row.ns === ns) && (!only || row.id === only) && (limited === '' || row.id < limited)) rows.push(row)
      }
      for (const row of rows.sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0))) {
        if (left <= 0) return
        const metadata = await unpack<Record<string, unknown>>(this.serde, row.metadata)
        if (!Object.entries(filter).every(([name, value]) => isDeepStrictEqual(metadata[name], value))) continue
        left--
        yield await this.#tuple(thread, row)
      }
    }
  }

  /** On the disk when it resolves, all of it or nothing. The same call repeated changes nothing. */
  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns: ns = '', checkpoint_id: parent = null } = config.configurable ?? {}
    const thread = this.#thread(thread_id)
    const { channel_values: values, ...rest } = checkpoint
    const about = { checkpoint: await pack(this.serde, rest), metadata: await pack(this.serde, metadata) }
    const call = digestOf(checkpoint.id, about as unknown as Json)
    const changed = Object.keys(values).filter((channel) => channel in newVersions)
    const packed = new Map<string, Packed | string[]>()
    for (const channel of changed) {
      const texts = this.#isMessages(ns, channel)
        ? await textsOf(this.serde, values[channel], this.#lists.latest(thread.session))
        : undefined
      packed.set(channel, texts ?? (await pack(this.serde, values[channel])))
    }
    await thread.change(async () => {
      const before = parent === null ? undefined : await thread.read<CheckpointRow>(CHECKPOINTS, ns, parent)
      const refs: Record<string, ValueRef> = {}
      const entries: Entry[] = []
      let added: Pick<Change, 'messages' | 'ids' | 'parent'> = {}
      for (const [channel, value] of packed) {
        if (Array.isArray(value)) {
          const { last, ...messages } = await this.#addMessages(thread, before?.values[channel], value, call)
          refs[channel] = { message: last }
          added = messages
        } else {
          const key = keyOf(ns, checkpoint.id, channel)
          refs[channel] = { entry: key }
          entries.push({ channel: VALUES, key, value: value as unknown as Json })
        }
      }
      for (const channel of Object.keys(values)) {
        if (packed.has(channel)) continue
        const ref = await refOf(thread, ns, channel, checkpoint.channel_versions[channel], before)
        if (ref !== undefined) refs[channel] = ref
      }
      const row: CheckpointRow = { ns, id: checkpoint.id, parent, ...about, versions: checkpoint.channel_versions, values: refs }
      entries.push({ channel: CHECKPOINTS, key: keyOf(ns, checkpoint.id), value: row as unknown as Json })
      const newest = await newestOf(thread, ns)
      if (newest === undefined || newest <= checkpoint.id) {
        entries.push({ channel: CHECKPOINTS, key: keyOf(ns), value: { newest: checkpoint.id } })
      }
      return { entries, ...added }
    })
    return { configurable: { thread_id, checkpoint_ns: ns, checkpoint_id: checkpoint.id } }
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const { thread_id, checkpoint_ns: ns = '', checkpoint_id: checkpoint } = config.configurable ?? {}
    if (checkpoint === undefined) throw missing('checkpoint_id')
    await putWrites(this.#thread(thread_id), this.serde, { ns, checkpoint }, writes, taskId)
  }

  /** The session is deleted: it can be restored until it is purged. */
  async deleteThread(threadId: string): Promise<void> {
    await this.#thread(threadId).delete()
    this.#threads.delete(threadId)
  }

  /** Removes checkpoints that nobody will go on from. What the messages were stays in the journal of the session. */
  async prune(threadIds: readonly string[], { strategy = 'keep_latest' }: PruneOptions = {}): Promise<void> {
    for (const id of threadIds) {
      if (strategy === 'delete') await this.deleteThread(id)
      else await prune(this.#thread(id), this.serde)
    }
  }

  #thread(id: string | undefined): Thread {
    if (id === undefined) throw missing('thread_id')
    const thread = this.#threads.get(id) ?? new Thread(this.#store, id, this.#onDamage)
    this.#threads.delete(id)
    this.#threads.set(id, thread)
    for (const oldest of this.#threads.keys()) {
      if (this.#threads.size <= THREADS) break
      this.#threads.delete(oldest)
    }
    return thread
  }

  async *#all(): AsyncGenerator<Thread> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.#store.list({ tag: TAG, ...(cursor === undefined ? {} : { cursor }) })
      for (const { id } of page.sessions) yield this.#thread(id)
      cursor = page.cursor
    }
  }

  #isMessages(ns: string, channel: string): boolean {
    return ns === '' && channel === this.#messagesChannel
  }

  /** What has to be appended so that the list stands on a branch, and the message that it ends with. */
  async #addMessages(
    thread: Thread,
    before: ValueRef | undefined,
    texts: readonly string[],
    call: string,
  ): Promise<Pick<Change, 'messages' | 'ids' | 'parent'> & { last: string }> {
    const session = thread.session
    const base = before !== undefined && 'message' in before ? await this.#lists.read(session, before.message) : NO_MESSAGES
    const shared = commonLength(base.texts, texts)
    const parent = base.ids[shared - 1] ?? null
    const added = texts.slice(shared)
    // The same call, repeated, makes the same ids, and so the same messages; another call makes others.
    const digest = digestOf(call, [parent, added]).slice(0, 32)
    const ids = added.map((_, index) => `${digest}.${index}`)
    const plain = [...base.plain.slice(0, shared), ...added.map(plainOf)]
    const list = { ids: [...base.ids.slice(0, shared), ...ids], texts, plain }
    this.#lists.keep(session, list)
    const last = list.ids.at(-1) as string
    return { last, ...(added.length === 0 ? {} : { messages: added.map((text) => JSON.parse(text)), ids, parent }) }
  }

  async #tuple(thread: Thread, row: CheckpointRow): Promise<CheckpointTuple> {
    const { ns, id, parent } = row
    const at = (checkpoint: string): RunnableConfig => ({
      configurable: { thread_id: thread.id, checkpoint_ns: ns, checkpoint_id: checkpoint },
    })
    const checkpoint = await unpack<Checkpoint>(this.serde, row.checkpoint)
    checkpoint.channel_values = {}
    for (const [channel, ref] of Object.entries(row.values)) checkpoint.channel_values[channel] = await this.#value(thread, ref)
    if (checkpoint.v < 4 && parent !== null) await this.#addSends(thread, checkpoint, { ns, checkpoint: parent })
    return {
      config: at(id),
      checkpoint,
      metadata: await unpack<CheckpointMetadata>(this.serde, row.metadata),
      pendingWrites: await readWrites(thread, this.serde, { ns, checkpoint: id }),
      ...(parent === null ? {} : { parentConfig: at(parent) }),
    }
  }

  async #value(thread: Thread, ref: ValueRef): Promise<unknown> {
    const session = thread.session
    if ('message' in ref) return messagesOf(this.serde, (await this.#lists.read(session, ref.message)).texts)
    const entry = await session.entry(VALUES, ref.entry)
    if (entry === undefined) {
      throw new HoldfastError('DAMAGED', 'A checkpoint names a value that is not there. Run `holdfast doctor`.', {
        details: { key: ref.entry },
      })
    }
    return unpack(this.serde, entry.value as unknown as Packed)
  }

  /** Checkpoints before version 4 had what was sent among the writes of their parent. */
  async #addSends(thread: Thread, checkpoint: Checkpoint, parent: { ns: string; checkpoint: string }): Promise<void> {
    const writes = await readWrites(thread, this.serde, parent)
    checkpoint.channel_values[TASKS] = writes.filter(([, channel]) => channel === TASKS).map(([, , value]) => value)
    const versions = Object.values(checkpoint.channel_versions)
    checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined)
  }
}

async function newestOf(thread: Thread, ns: string): Promise<string | undefined> {
  return (await thread.read<{ newest: string }>(CHECKPOINTS, ns))?.newest
}

/** Where a value stands that a checkpoint has not changed: its parent knows, or, of a copy, the one that it is a copy of. */
async function refOf(
  thread: Thread,
  ns: string,
  channel: string,
  version: string | number | undefined,
  parent: CheckpointRow | undefined,
): Promise<ValueRef | undefined> {
  if (version === undefined) return undefined
  if (parent?.versions[channel] === version) return parent.values[channel]
  for await (const row of thread.rows()) {
    if (row.ns === ns && row.versions[channel] === version && row.values[channel] !== undefined) return row.values[channel]
  }
  return undefined
}

function missing(field: string): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', `The config has no "${field}" among its "configurable" fields, and needs one.`)
}
