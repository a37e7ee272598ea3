/** Sessions of a store, over as many pages as it takes. */
import { LIMITS } from '../record/limits.ts'
import type { SessionInfo } from '../store/info.ts'
import type { ListOptions, ListPage } from '../store/list.ts'
import type { Store } from '../store/store.ts'

/** As many as were asked for, or all. A page of the store may hold fewer. */
export async function collectSessions(store: Store, { limit, cursor: begin, ...filter }: ListOptions): Promise<ListPage> {
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
