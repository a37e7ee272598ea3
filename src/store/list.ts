/** Lists of sessions, from the catalog; where that cannot be used, by looking at each of them. */
import { CatalogUnavailable, type ListOrder, type ListPosition, type ListQuery, type SessionStatus } from '../engine/catalog.ts'
import { HoldfastError } from '../errors.ts'
import { jsonBytes, PageBudget } from '../record/json-bytes.ts'
import { LIMITS } from '../record/limits.ts'
import type { Json } from '../record/record.ts'
import { checkChoice, checkLimit, checkTexts, checkTime, copyObject, invalid } from '../session/check.ts'
import type { SessionInfo } from '../session/info.ts'
import type { CatalogParts, SpaceParts } from './parts.ts'

export interface ListOptions {
  /** Words that the id, the title or a tag must contain. Parts of words match, too. Only the first 32 different words count. */
  readonly query?: string
  readonly tag?: string
  readonly owner?: string
  readonly workspace?: string
  readonly parent?: string
  /** Only sessions with recorded usage of this model. */
  readonly model?: string
  /** Fields of the metadata with the values that they must have, at most 8. */
  readonly metadata?: Readonly<Record<string, Json>>
  /** Only sessions of this status. Defaults to all but the deleted ones. */
  readonly status?: SessionStatus
  /** Only sessions changed at this time or later. With the order `created`, created then. */
  readonly from?: Date
  /** Only sessions changed before this time. With the order `created`, created before. */
  readonly to?: Date
  /** Defaults to `updated`: the last changed first. */
  readonly order?: ListOrder
  /** The largest number of sessions, up to 1000. Defaults to 100. A page has fewer where their metadata is large: it holds about 4 MiB. */
  readonly limit?: number
  /**
   * The cursor of the page before. A session that does not change between two pages is shown once. A session that changes moves to the front of
   * the order `updated`. The order `created` always shows each session once. Null begins at the first page.
   */
  readonly cursor?: string | null | undefined
  /** Whether to count all sessions that match. Defaults to false. */
  readonly count?: boolean
}

export interface ListPage {
  readonly sessions: readonly SessionInfo[]
  /** The cursor of the next page, or null on the last one. */
  readonly cursor: string | null
  readonly total?: number
}

const STATUSES: readonly SessionStatus[] = ['ok', 'damaged', 'unreadable', 'deleted']
/** As many as a search looks for. */
const MOST_WORDS = 32
const ORDERS: readonly ListOrder[] = ['updated', 'created', 'title']

export async function list(parts: SpaceParts & CatalogParts, options: ListOptions): Promise<ListPage> {
  const { order = 'updated', limit = 100, count = false } = options
  checkLimit(limit, LIMITS.pageSessions)
  const query: ListQuery & { count: boolean } = { ...filterOf(parts.space, options), order, limit: limit + 1, count }
  const { rows, total } = await parts.catalog.ask('list', query).catch(async (error: unknown) => {
    if (!(error instanceof CatalogUnavailable)) throw error
    const { scanList } = await import('../catalog/scan.ts')
    return scanList(parts, query)
  })
  const budget = new PageBudget(LIMITS.pageBytes)
  const excess = rows.findIndex(({ info }, index) => index === limit || !budget.add(jsonBytes(info)))
  const page = excess === -1 ? rows : rows.slice(0, excess)
  const last = page.at(-1)
  return {
    sessions: page.map(({ info }) => info as unknown as SessionInfo),
    cursor: page.length < rows.length && last !== undefined ? cursorOf(last, order) : null,
    ...(total === null ? {} : { total }),
  }
}

/** The words of a query that count. Each is a condition of its own, and SQLite refuses a statement with a thousand of them. */
function wordsOf(query: string): string[] {
  const words = query.toLowerCase().split(/\s+/)
  return [...new Set(words)].filter((word) => word !== '').slice(0, MOST_WORDS)
}

export function filterOf(space: string, options: ListOptions): Omit<ListQuery, 'limit' | 'order'> {
  const { query = '', tag, owner, workspace, parent, model, status, from, to, order = 'updated', cursor } = options
  checkTexts({ query, tag, owner, workspace, parent, model })
  if (status !== undefined) checkChoice('status', status, STATUSES)
  checkChoice('order', order, ORDERS)
  const metadata = copyObject('`metadata`', options.metadata ?? {})
  if (Object.keys(metadata).length > LIMITS.listedFields)
    throw invalid(`A list can be filtered by ${LIMITS.listedFields} fields of metadata at most.`)
  return {
    space,
    words: wordsOf(query),
    metadata,
    times: order === 'created' ? 'created' : 'updated',
    ...(tag === undefined ? {} : { tag }),
    ...(owner === undefined ? {} : { owner }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(parent === undefined ? {} : { parent }),
    ...(model === undefined ? {} : { model }),
    ...(status === undefined ? {} : { status }),
    ...(from === undefined ? {} : { from: checkTime('from', from).toISOString() }),
    ...(to === undefined ? {} : { to: checkTime('to', to).toISOString() }),
    ...(cursor == null ? {} : { after: parseCursor(cursor, order) }),
  }
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
