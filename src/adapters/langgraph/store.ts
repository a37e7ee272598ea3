/**
 * The long-term store of LangGraph on Holdfast: a namespace is a session, an item an entry of it. Of one batch, what is put into one
 * namespace is put in one record. Searches look through the items of the namespaces that they name; there is no vector index: items that
 * have more words of the query come first.
 */

import { isDeepStrictEqual } from 'node:util'
import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from '@langchain/langgraph-checkpoint'
import type { Json, JsonObject } from '../../record/record.ts'
import {
  type AdapterSession,
  type AdapterStore,
  begun,
  type DamageOptions,
  entriesIn,
  entryIn,
  ifKept,
  type OnDamage,
} from '../sessions.ts'
import { keyOf } from './thread.ts'

export interface HoldfastStoreOptions extends DamageOptions {
  /** A store that was opened, or one at a server. */
  readonly store: AdapterStore
}

interface Kept {
  readonly value: JsonObject
  readonly createdAt: string
  readonly updatedAt: string
}

const TAG = 'langgraph-store'
const ITEMS = 'items'

export class HoldfastStore extends BaseStore {
  readonly #store: AdapterStore
  readonly #onDamage: OnDamage | undefined

  constructor({ store, onDamage }: HoldfastStoreOptions) {
    super()
    this.#store = store
    this.#onDamage = onDamage
  }

  /** What is read is read before anything is put. */
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = []
    const puts = new Map<string, PutOperation[]>()
    for (const operation of operations) {
      if ('namespacePrefix' in operation) results.push(await this.#search(operation))
      else if ('value' in operation) {
        const name = JSON.stringify(operation.namespace)
        puts.set(name, [...(puts.get(name) ?? []), operation])
        results.push(undefined)
      } else if ('key' in operation) results.push(await this.#get(operation))
      else results.push(await this.#namespaces(operation))
    }
    for (const group of puts.values()) await this.#put(group)
    return results as OperationResults<Op>
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    const session = this.#session(namespace)
    const entry = await ifKept(() => entryIn(session, ITEMS, keyOf(key), this.#onDamage))
    return entry === undefined ? null : itemOf(namespace, entry.value)
  }

  async #put(group: readonly PutOperation[]): Promise<void> {
    const [{ namespace }] = group as [PutOperation]
    const session = this.#session(namespace)
    // Of several puts of one key the last one counts.
    const last = new Map(group.map((operation) => [operation.key, operation]))
    const entries: { channel: string; key: string; value?: Json }[] = []
    const now = new Date().toISOString()
    for (const [key, { value }] of last) {
      const before = (await ifKept(() => entryIn(session, ITEMS, keyOf(key), this.#onDamage)))?.value as unknown as Kept | undefined
      const kept = { key, value, createdAt: before?.createdAt ?? now, updatedAt: now } as unknown as Json
      entries.push({ channel: ITEMS, key: keyOf(key), ...(value === null ? {} : { value: kept }) })
    }
    // Lists find it by its tag.
    await begun(this.#store, session, { tags: [TAG], metadata: { namespace: [...namespace] } })
    await session.putEntries(entries)
  }

  async #search({ namespacePrefix, filter = {}, query, limit = 10, offset = 0 }: SearchOperation): Promise<SearchItem[]> {
    const items: SearchItem[] = []
    for await (const namespace of this.#all()) {
      if (!matches({ matchType: 'prefix', path: namespacePrefix }, namespace)) continue
      const session = this.#session(namespace)
      for await (const { value } of entriesIn(session, ITEMS, this.#onDamage)) {
        const item = itemOf(namespace, value)
        if (Object.entries(filter).every(([field, wanted]) => fits(item.value[field], wanted))) items.push(item)
      }
    }
    return (query === undefined ? items : ranked(items, query)).slice(offset, offset + limit)
  }

  async #namespaces({ matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation): Promise<string[][]> {
    const found = new Map<string, string[]>()
    for await (const namespace of this.#all()) {
      if (!matchConditions.every((condition) => matches(condition, namespace))) continue
      const cut = namespace.slice(0, maxDepth)
      found.set(JSON.stringify(cut), cut)
    }
    const sorted = [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, namespace]) => namespace)
    return sorted.slice(offset ?? 0, (offset ?? 0) + (limit ?? sorted.length))
  }

  async *#all(): AsyncGenerator<string[]> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.#store.list({ tag: TAG, order: 'created', ...(cursor === undefined ? {} : { cursor }) })
      for (const { metadata } of page.sessions) if (Array.isArray(metadata.namespace)) yield metadata.namespace as string[]
      cursor = page.cursor
    }
  }

  #session(namespace: readonly string[]): AdapterSession {
    return this.#store.session(idOf(namespace))
  }
}

function idOf(namespace: readonly string[]): string {
  return `langgraph-store:${keyOf(...namespace)}`
}

function itemOf(namespace: readonly string[], kept: Json): Item {
  const { key, value, createdAt, updatedAt } = kept as unknown as Kept & { readonly key: string }
  return { namespace: [...namespace], key, value, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
}

function matches({ matchType, path }: MatchCondition, namespace: readonly string[]): boolean {
  if (path.length > namespace.length) return false
  const part = matchType === 'prefix' ? namespace.slice(0, path.length) : namespace.slice(namespace.length - path.length)
  return path.every((name, index) => name === '*' || name === part[index])
}

const OPERATORS: Readonly<Record<string, (value: unknown, wanted: unknown) => boolean>> = {
  $eq: (value, wanted) => isDeepStrictEqual(value, wanted),
  $ne: (value, wanted) => !isDeepStrictEqual(value, wanted),
  $gt: (value, wanted) => Number(value) > Number(wanted),
  $gte: (value, wanted) => Number(value) >= Number(wanted),
  $lt: (value, wanted) => Number(value) < Number(wanted),
  $lte: (value, wanted) => Number(value) <= Number(wanted),
  $in: (value, wanted) => Array.isArray(wanted) && wanted.some((one) => isDeepStrictEqual(value, one)),
  $nin: (value, wanted) => !Array.isArray(wanted) || !wanted.some((one) => isDeepStrictEqual(value, one)),
}

function fits(value: unknown, wanted: unknown): boolean {
  const names = typeof wanted === 'object' && wanted !== null ? Object.keys(wanted) : []
  if (names.length === 0 || !names.every((name) => name in OPERATORS)) return isDeepStrictEqual(value, wanted)
  return names.every((name) => OPERATORS[name]?.(value, (wanted as Record<string, unknown>)[name]))
}

function ranked(items: readonly Item[], query: string): SearchItem[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const scored = items.map((item) => {
    const text = JSON.stringify(item.value).toLowerCase()
    return { ...item, score: words.filter((word) => text.includes(word)).length / Math.max(words.length, 1) }
  })
  return scored.sort((a, b) => b.score - a.score)
}
