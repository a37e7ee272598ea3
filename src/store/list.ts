/** Lists of sessions, from the catalog; where that cannot be used, by looking at each of them. */
import { CatalogUnavailable, type ListOrder, type ListPosition, type ListQuery, type SessionStatus } from '../engine/catalog.ts'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import type { Json } from '../record/record.ts'
import { checkCount, invalid } from '../session/check.ts'
import type { SessionInfo } from '../session/info.ts'
import type { StoreParts } from './parts.ts'

export interface ListOptions {
  /** Words that the id, the title or a tag must have; parts of words do. */
  readonly query?: string
  readonly tag?: string
  readonly owner?: string
  readonly workspace?: string
  readonly parent?: string
  /** Usage of this model is recorded. */
  readonly model?: string
  /** Fields of the metadata, with the values that they must have; 8 at most. */
  readonly metadata?: Readonly<Record<string, Json>>
  /** All but the deleted ones unless told. */
  readonly status?: SessionStatus
  /** Changed at this time or later, and before that one; with the order `created`, created then. */
  readonly from?: Date
  readonly to?: Date
  readonly order?: ListOrder
  /** How many at most; 100 unless told. */
  readonly limit?: number
  /**
   * Where the page before ended. Sessions that do not change meanwhile are shown once, whatever happens to the others. One that is changed moves to
   * the front of the order `updated`; the order `created` shows each session once in any case.
   */
  readonly cursor?: string
  /** Also tell how many there are in all. */
  readonly count?: boolean
}

export interface ListPage {
  readonly sessions: readonly SessionInfo[]
  /** Of the next page; null on the last one. */
  readonly cursor: string | null
  readonly total?: number
}

export async function list(parts: StoreParts, options: ListOptions): Promise<ListPage> {
  const { order = 'updated', limit = 100, count = false } = options
  checkCount('The limit', limit, LIMITS.pageSessions)
  const query: ListQuery & { count: boolean } = { ...filterOf(parts.space, options), order, limit: limit + 1, count }
  const { rows, total } = await parts.catalog.ask('list', query).catch(async (error: unknown) => {
    if (!(error instanceof CatalogUnavailable)) throw error
    const { scanList } = await import('../catalog/scan.ts')
    return scanList(parts, query)
  })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    sessions: page.map(({ info }) => info as unknown as SessionInfo),
    cursor: rows.length > limit && last !== undefined ? cursorOf(last, order) : null,
    ...(total === null ? {} : { total }),
  }
}

export function filterOf(space: string, options: ListOptions): Omit<ListQuery, 'limit' | 'order'> {
  const { query = '', tag, owner, workspace, parent, model, metadata = {}, status, from, to, order = 'updated', cursor } = options
  if (Object.keys(metadata).length > LIMITS.listedFields)
    throw invalid(`A list can be filtered by ${LIMITS.listedFields} fields of metadata at most.`)
  return {
    space,
    words: query
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== ''),
    metadata: Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined)),
    times: order === 'created' ? 'created' : 'updated',
    ...(tag === undefined ? {} : { tag }),
    ...(owner === undefined ? {} : { owner }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(parent === undefined ? {} : { parent }),
    ...(model === undefined ? {} : { model }),
    ...(status === undefined ? {} : { status }),
    ...(from === undefined ? {} : { from: timeOf('from', from).toISOString() }),
    ...(to === undefined ? {} : { to: timeOf('to', to).toISOString() }),
    ...(cursor === undefined ? {} : { after: parseCursor(cursor, order) }),
  }
}

/** A time that a caller handed in. */
export function timeOf(what: string, time: Date): Date {
  if (!(time instanceof Date) || Number.isNaN(time.getTime())) throw invalid(`\`${what}\` must be a valid Date.`)
  return time
}

function cursorOf({ by, id }: ListPosition, order: ListOrder): string {
  return Buffer.from(JSON.stringify([order, by, id])).toString('base64url')
}

function parseCursor(cursor: string, order: ListOrder): ListPosition {
  try {
    const [of, by, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[]
    if (of === order && typeof by === 'string' && typeof id === 'string') return { by, id }
  } catch {
    // Told below.
  }
  throw new HoldfastError('INVALID_ARGUMENT', 'The cursor does not fit this list. Use one that a page of the same order came with.', {
    details: { reason: 'cursor' },
  })
}
