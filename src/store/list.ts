/** Lists of sessions, by looking at each of them. */
import { isDeepStrictEqual } from 'node:util'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import type { Json } from '../record/record.ts'
import { checkCount, invalid } from '../session/check.ts'
import { INITIAL } from '../session/state.ts'
import { infoOf, isDamaged, type SessionInfo } from './info.ts'
import type { StoreParts } from './parts.ts'

export interface ListOptions {
  /** Words that the id or the title must have. */
  readonly query?: string
  readonly tag?: string
  readonly owner?: string
  readonly workspace?: string
  readonly parent?: string
  /** Fields of the metadata, with the values that they must have. */
  readonly metadata?: Readonly<Record<string, Json>>
  /** Those that were deleted, instead of those that were not. */
  readonly deleted?: boolean
  readonly order?: 'updated' | 'created' | 'title'
  /** How many at most; 100 unless told. */
  readonly limit?: number
  /** Where the page before ended. */
  readonly cursor?: string
}

export interface ListPage {
  readonly sessions: readonly SessionInfo[]
  /** Of the next page; null on the last one. */
  readonly cursor: string | null
}

/** How many sessions are looked at side by side. */
const SIDE_BY_SIDE = 16

export async function list(parts: StoreParts, options: ListOptions): Promise<ListPage> {
  const { order = 'updated', limit = 100 } = options
  checkCount('The limit', limit, LIMITS.pageSessions)
  const after = options.cursor === undefined ? undefined : parseCursor(options.cursor, order)
  const rows: Row[] = []
  for await (const info of infos(parts)) {
    if (!matches(info, options)) continue
    const row = rowOf(info, order)
    if (after === undefined || compare(row, after) > 0) rows.push(row)
  }
  rows.sort(compare)
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    sessions: page.map(({ info }) => info as SessionInfo),
    cursor: rows.length > limit && last !== undefined ? cursorOf(last, order) : null,
  }
}

/** What there is to know of every session of a space, in no particular order. Those that cannot be read are among them, flagged. */
async function* infos(parts: StoreParts): AsyncGenerator<SessionInfo> {
  const { engine, space } = parts
  let batch: Promise<SessionInfo | undefined>[] = []
  const flush = async function* (): AsyncGenerator<SessionInfo> {
    for (const info of await Promise.all(batch)) if (info !== undefined) yield info
    batch = []
  }
  for await (const name of engine.names(space)) {
    batch.push(infoOfName(parts, name))
    if (batch.length === SIDE_BY_SIDE) yield* flush()
  }
  yield* flush()
}

async function infoOfName(parts: StoreParts, name: string): Promise<SessionInfo | undefined> {
  const { replica } = parts.replicas.once(name)
  try {
    const { state } = await replica.read()
    // Nothing that could be read is not nothing.
    if (state.purged || (state.status === 'absent' && !isDamaged(replica.damage))) return undefined
    return infoOf(state.id ?? idOf(parts, name), state, replica.damage)
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
    return { ...infoOf(idOf(parts, name), INITIAL, []), status: error.code === 'DAMAGED' ? 'damaged' : 'unreadable' }
  }
}

/** The id of a session that cannot tell it: the name of its journal begins with it, if it is short and plain. */
export function idOf({ engine, space }: StoreParts, name: string): string {
  const candidate = name.slice(name.lastIndexOf('/') + 1).replace(/-[0-9a-f]{32}$/, '')
  return candidate !== '' && engine.name(space, candidate) === name ? candidate : name
}

function matches(info: SessionInfo, { query, tag, owner, workspace, parent, metadata = {}, deleted = false }: ListOptions): boolean {
  if ((info.status === 'deleted') !== deleted) return false
  if (tag !== undefined && !info.tags.includes(tag)) return false
  if (owner !== undefined && info.owner !== owner) return false
  if (workspace !== undefined && info.workspace !== workspace) return false
  if (parent !== undefined && info.parent?.session !== parent) return false
  const text = `${info.id}\n${info.title ?? ''}`.toLowerCase()
  if (
    query !== undefined &&
    !query
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word))
  )
    return false
  return Object.entries(metadata).every(
    ([field, value]) => Object.hasOwn(info.metadata, field) && isDeepStrictEqual(info.metadata[field], value),
  )
}

/** Where a session stands in a list. */
interface Row {
  readonly info?: SessionInfo
  readonly by: string
  readonly id: string
  readonly order: 'updated' | 'created' | 'title'
}

function rowOf(info: SessionInfo, order: Row['order']): Row {
  const by = order === 'title' ? (info.title ?? '').toLowerCase() : order === 'created' ? info.createdAt : info.updatedAt
  return { info, by, id: info.id, order }
}

/** Times newest first, titles from a to z; ids decide between equals, so that the order is the same in every call. */
function compare(a: Row, b: Row): number {
  const order = a.by < b.by ? -1 : a.by > b.by ? 1 : 0
  if (order !== 0) return a.order === 'title' ? order : -order
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

function cursorOf({ by, id }: Row, order: string): string {
  return Buffer.from(JSON.stringify([order, by, id])).toString('base64url')
}

function parseCursor(cursor: string, order: Row['order']): Row {
  try {
    const [of, by, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[]
    if (of === order && typeof by === 'string' && typeof id === 'string') return { by, id, order }
  } catch {
    // Told below.
  }
  throw invalid('The cursor does not fit this list. Use one that a page of the same order came with.')
}
