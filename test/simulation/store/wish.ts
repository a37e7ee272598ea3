/** What clients want of sessions, and how a store is asked for it. A wish stands in the record that fulfils it, so that both can be held together. */

import type { Model } from '../../../src/commit/model.ts'
import { Worker } from '../../../src/commit/worker.ts'
import { HoldfastError } from '../../../src/errors.ts'
import type { JsonObject } from '../../../src/record/record.ts'
import type { Session } from '../../../src/store/session.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Random } from '../random.ts'

interface Named {
  /** Also the key of the operation, where it has one, and the mark in what it writes. */
  readonly name: string
  readonly session: string
  /** Repeated under this key, it happens once. */
  readonly key: string | undefined
  /** The version that the session must still have. */
  readonly expect: string | undefined
}

export type Wish = Named &
  (
    | {
        readonly kind: 'append'
        readonly ids: readonly string[] | undefined
        readonly count: number
        readonly text: string
        readonly parent: string | undefined
      }
    | { readonly kind: 'describe'; readonly addTags: readonly string[]; readonly removeTags: readonly string[] }
    | { readonly kind: 'snapshot'; readonly snapshot: string; readonly at: string | undefined }
    | { readonly kind: 'revert'; readonly target: string }
    | { readonly kind: 'entries'; readonly entry: string; readonly removes: boolean }
    | { readonly kind: 'commit'; readonly keep: number }
    | { readonly kind: 'fork'; readonly id: string; readonly at: string | undefined }
    | { readonly kind: 'undo' | 'delete' | 'restore' | 'create' | 'purge' | 'read' | 'work' }
  )

export type Kind = Wish['kind']

/** What a reader is shown of a session. */
export interface View {
  readonly messages: readonly { readonly id: string; readonly mark: string }[]
  /** Those that no archive holds, and how many the session says they are. */
  readonly live: readonly string[]
  readonly messageCount: number
  readonly title: string | null
  readonly tags: readonly string[]
  readonly snapshots: readonly (readonly [name: string, messages: number])[]
  /** Undefined if it refuses to list them: it shows none, and a record that was lost may have put one. */
  readonly entries: readonly (readonly [key: string, value: string])[] | undefined
  readonly canUndo: boolean
}

export interface Answer {
  readonly told: 'done' | 'duplicate' | 'read'
  readonly version?: string
  readonly ids?: readonly string[]
  /** Undefined if the session changed while it was read. */
  readonly view?: View | undefined
}

const CHANNEL = 'notes'

/** Soon over, on a clock on which a step takes a fraction of a millisecond. */
const LEASE_MS = 200

/** A model that tells which messages it was shown, and remembers each that it may draw from. */
const ECHO: Model = {
  name: 'echo',
  inputTokens: 100_000,
  summarise: async ({ messages }) => ({
    abstract: `about ${messages.length}`,
    overview: messages.map(({ id }) => id).join(' '),
    memories: messages
      .filter(({ extract }) => extract)
      .map(({ id }) => ({ key: `of ${id}`, category: 'fact', text: `from ${id}`, sources: [id] })),
  }),
}

/** Asks a store for it. */
export async function fulfil(store: Store, wish: Wish): Promise<Answer> {
  const session = store.session<JsonObject>(wish.session)
  const options = { ...(wish.key === undefined ? {} : { key: wish.key }), ...(wish.expect === undefined ? {} : { expect: wish.expect }) }
  switch (wish.kind) {
    case 'append': {
      const messages = Array.from({ length: wish.count }, () => ({ mark: wish.name, text: wish.text }))
      const ids = wish.ids === undefined ? {} : { ids: wish.ids }
      return done(await session.append(messages, { ...options, ...ids, ...(wish.parent === undefined ? {} : { parent: wish.parent }) }))
    }
    case 'describe':
      return done(await session.describe({ title: wish.name, addTags: wish.addTags, removeTags: wish.removeTags }, options))
    case 'snapshot':
      return done(await session.snapshot(wish.snapshot, { ...options, ...(wish.at === undefined ? {} : { at: wish.at }) }))
    case 'revert':
      return done(await session.revert(/^s\d$/.test(wish.target) ? { snapshot: wish.target } : { message: wish.target }, options))
    case 'undo':
      return done(await session.undo(options))
    case 'entries':
      return done(await session.putEntries([{ channel: CHANNEL, key: wish.entry, ...(wish.removes ? {} : { value: wish.name }) }], options))
    case 'commit': {
      const committed = await session.commit({ keep: wish.keep, ...(wish.key === undefined ? {} : { key: wish.key }) })
      if (committed.status === 'skipped') return { told: 'read' }
      return { told: committed.duplicate ? 'duplicate' : 'done' }
    }
    case 'delete':
      return done(await session.delete(options))
    case 'restore':
      return done(await session.restore(options))
    case 'create':
      return done(await session.create({ title: wish.name }, { key: wish.name }))
    case 'fork':
      await session.fork({ id: wish.id, key: wish.name, title: wish.name, tags: [], ...(wish.at === undefined ? {} : { at: wish.at }) })
      return { told: 'done' }
    case 'work':
      await new Worker(store, { model: ECHO, concurrency: 2, leaseMs: LEASE_MS, attempts: 1000, session: wish.session }).drain()
      return { told: 'read' }
    case 'purge':
      for await (const _ of store.purge({ olderThanMs: 0 }));
      return { told: 'read' }
    case 'read':
      return { told: 'read', ...(await viewOf(store, wish.session)) }
  }
}

function done({ version, duplicate, ids }: { version: string; duplicate: boolean; ids?: readonly string[] }): Answer {
  return { told: duplicate ? 'duplicate' : 'done', version, ...(ids === undefined ? {} : { ids }) }
}

/** What a session shows, with the version that it has. Without a view if it changed meanwhile. */
export async function viewOf(store: Store, id: string): Promise<{ version: string; view: View | undefined }> {
  const session = store.session<JsonObject>(id)
  const { version, title, tags, snapshots, canUndo, messageCount } = await session.info()
  const { messages } = await session.messages({ archived: true, limit: 1000 })
  const entries = await entriesOf(session)
  if ((await session.version()) !== version) return { version, view: undefined }
  const view = {
    messages: messages.map((message) => ({ id: message.id, mark: message.message.mark as string })),
    live: messages.filter(({ archive }) => archive === null).map((message) => message.id),
    messageCount,
    title,
    tags: tags.toSorted(),
    snapshots: snapshots.map(({ name, messageCount }) => [name, messageCount] as const).toSorted(byName),
    entries: entries?.toSorted(byName),
    canUndo,
  }
  return { version, view }
}

async function entriesOf(session: Session<JsonObject>): Promise<[string, string][] | undefined> {
  const entries: [string, string][] = []
  try {
    for await (const { key, value } of session.entries(CHANNEL)) entries.push([key, value as string])
  } catch (error) {
    const isRefused = error instanceof HoldfastError && error.code === 'DAMAGED' && 'places' in (error.details ?? {})
    if (entries.length === 0 && isRefused) return undefined
    throw error
  }
  return entries
}

export function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** What a client knows of a session: it picks from this what to go back to. */
export interface Knowledge {
  readonly messages: string[]
  readonly keys: string[]
  version: string | undefined
}

const USUAL: readonly Kind[] = [
  'append',
  'append',
  'append',
  'append',
  'describe',
  'snapshot',
  'revert',
  'undo',
  'entries',
  'fork',
  'commit',
  'commit',
  'read',
  'read',
]
export const KINDS: Record<'never' | 'sometimes' | 'often', readonly Kind[]> = {
  never: USUAL,
  sometimes: [...USUAL, 'delete', 'restore', 'create', 'purge'],
  often: [
    'append',
    'append',
    'append',
    'revert',
    'snapshot',
    'fork',
    'commit',
    'read',
    'delete',
    'delete',
    'restore',
    'create',
    'purge',
    'purge',
  ],
}

const TAGS = ['red', 'green', 'blue']

export function makeWish(random: Random, kind: Kind, name: string, session: string, known: Knowledge, textBytes: number): Wish {
  const some = (items: readonly string[], chance: number): string | undefined =>
    items.length > 0 && random.chance(chance) ? random.pick(items) : undefined
  const keyed = { name, session, key: name, expect: random.chance(0.15) ? known.version : undefined }
  switch (kind) {
    case 'append': {
      const count = 1 + random.int(3)
      const ids = random.chance(0.5) ? Array.from({ length: count }, (_, i) => `${name} ${i}`) : undefined
      // Now and then somebody uses a key again for something else.
      const key = random.chance(0.1) ? (some(known.keys, 1) ?? name) : random.chance(0.6) ? name : undefined
      return { ...keyed, kind, ids, count, text: 'x'.repeat(random.int(textBytes)), parent: some(known.messages, 0.15), key }
    }
    case 'describe':
      return { ...keyed, kind, addTags: [random.pick(TAGS)], removeTags: [random.pick(TAGS)], key: random.chance(0.6) ? name : undefined }
    case 'snapshot':
      return { ...keyed, kind, snapshot: `s${random.int(3)}`, at: some(known.messages, 0.3) }
    case 'revert':
      return { ...keyed, kind, target: some(known.messages, 0.7) ?? `s${random.int(3)}` }
    case 'entries':
      return { ...keyed, kind, entry: `k${random.int(3)}`, removes: random.chance(0.2) }
    case 'commit':
      return { ...keyed, kind, keep: random.int(3), expect: undefined }
    case 'fork':
      return { ...keyed, kind, id: `fork ${name}`, at: some(known.messages, 0.5) }
    default:
      return { ...keyed, kind }
  }
}
