/** Everything that a catalog can be asked, so that two of them can be compared. */
import { systemClock } from '../../src/engine/clock.ts'
import type { ListOptions } from '../../src/store/list.ts'
import type { SearchOptions, SearchResult } from '../../src/store/search.ts'
import type { Store } from '../../src/store/store.ts'

const ORDERS = ['updated', 'created', 'title'] as const
const STATUSES = [undefined, 'ok', 'damaged', 'unreadable', 'deleted'] as const

export interface AnswersOptions {
  /** Words to search for. */
  readonly words: readonly string[]
  readonly owners?: readonly (string | null)[]
  readonly sessions?: readonly string[]
  /** Lists are asked for with each of them, beside those by order and status. */
  readonly filters?: readonly ListOptions[]
}

/** What a search finds once it lags behind nothing: on a busy machine it answers before all is indexed, and says so. */
export async function searched(store: Store, words: string, options?: SearchOptions): Promise<SearchResult> {
  for (let tries = 0; ; tries++) {
    const found = await store.search(words, options)
    if (found.lag === null || tries === 60) return found
    await systemClock.sleep(100)
  }
}

/** Plain values. Scores are left out: they depend on how many texts were ever put. */
export async function answersOf(store: Store, { words, sessions = [], ...options }: AnswersOptions): Promise<unknown> {
  const found: unknown[] = []
  for (const word of words) {
    for (const scope of [{}, { archived: true }, { archived: false }, ...sessions.map((session) => ({ session }))]) {
      const { hits, lag } = await searched(store, word, { limit: 200, ...scope })
      const plain = hits.map(({ score: _, ...hit }) => JSON.stringify(hit)).sort()
      found.push([word, scope, plain, lag])
    }
  }
  const { days, lag } = await store.stats()
  return { ...(await answersWithoutText(store, options)), found, days, lag }
}

/** Those of them for which no message has to be read: a scan gives them too. */
export async function answersWithoutText(
  store: Store,
  { owners = [null], filters = [] }: Pick<AnswersOptions, 'owners' | 'filters'>,
): Promise<object> {
  const lists: unknown[] = []
  for (const order of ORDERS) {
    const asked = [...STATUSES.map((status) => (status === undefined ? {} : { status })), ...filters]
    for (const filter of asked) lists.push([order, filter, await store.list({ ...filter, order, count: true, limit: 1000 })])
  }
  const memories: unknown[] = []
  for (const owner of owners) memories.push(await store.memories({ owner }))
  // A segment that was begun, and nothing written to it yet, is not announced: it adds a few bytes and changes nothing else.
  const { bytes: _, days, lag: __, ...stats } = await store.stats()
  const begun = days.map(({ day, sessions }) => ({ day, sessions })).filter(({ sessions }) => sessions > 0)
  return { lists, memories, stats, begun, tasks: await store.tasks({ limit: 1000 }) }
}
