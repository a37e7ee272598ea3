/** Sessions of a store, over as many pages as it takes. */

import { comparePlaces, placeOf } from '../catalog/list-order.ts'
import { LIMITS } from '../record/limits.ts'
import type { SessionInfo } from '../session/info.ts'
import type { StoreApi } from '../store/api/store-api.ts'
import type { ListOptions, ListPage } from '../store/list.ts'

/** As many as were asked for, or all. A page of the store may hold fewer. */
export async function collectSessions(store: StoreApi, options: ListOptions): Promise<ListPage> {
  if (options.limit === undefined && options.cursor === undefined) return collectAll(store, options)
  const { limit, cursor: begin, ...filter } = options
  const sessions: SessionInfo[] = []
  let cursor: string | null = begin ?? null
  do {
    const left = limit === undefined ? LIMITS.pageSessions : Math.min(limit - sessions.length, LIMITS.pageSessions)
    const page = await store.list({ ...filter, limit: left, ...(cursor === null ? {} : { cursor }) })
    sessions.push(...page.sessions)
    cursor = page.cursor
  } while (cursor !== null && (limit === undefined || sessions.length < limit))
  return { sessions, cursor }
}

/** Page by page in the one order that no change disturbs: a session that is changed meanwhile is neither missed nor met twice. */
async function collectAll(store: StoreApi, { order = 'updated', ...filter }: ListOptions): Promise<ListPage> {
  const sessions: SessionInfo[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: ListPage = await store.list({
      ...filter,
      order: 'created',
      limit: LIMITS.pageSessions,
      ...(cursor === undefined ? {} : { cursor }),
    })
    sessions.push(...page.sessions)
    cursor = page.cursor
  }
  const places = new Map(sessions.map((session) => [session, placeOf(session, order)] as const))
  sessions.sort((a, b) => comparePlaces(places.get(a) as never, places.get(b) as never, order))
  return { sessions, cursor: null }
}
