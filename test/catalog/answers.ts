/** Everything that a catalog can be asked, so that two of them can be compared. */
import type { Store } from '../../src/store/store.ts'

const ORDERS = ['updated', 'created', 'title'] as const
const STATUSES = [undefined, 'ok', 'damaged', 'unreadable', 'deleted'] as const

export interface AnswersOptions {
  /** Words to search for. */
  readonly words: readonly string[]
  readonly owners?: readonly (string | null)[]
  readonly sessions?: readonly string[]
}

/** Plain values. Scores are left out: they depend on how many texts were ever put. */
export async function answersOf(store: Store, { words, owners = [null], sessions = [] }: AnswersOptions): Promise<unknown> {
  const lists: unknown[] = []
  for (const order of ORDERS) {
    for (const status of STATUSES) {
      lists.push([order, status, await store.list({ order, count: true, limit: 1000, ...(status === undefined ? {} : { status }) })])
    }
  }
  const found: unknown[] = []
  for (const word of words) {
    for (const scope of [{}, { archived: true }, { archived: false }, ...sessions.map((session) => ({ session }))]) {
      const { hits, lag } = await store.search(word, { limit: 200, ...scope })
      const plain = hits.map(({ score: _, ...hit }) => JSON.stringify(hit)).sort()
      found.push([word, scope, plain, lag])
    }
  }
  const memories: unknown[] = []
  for (const owner of owners) memories.push(await store.memories({ owner }))
  // A segment that was begun, and nothing written to it yet, is not announced: it adds a few bytes and changes nothing else.
  const { bytes: _, ...stats } = await store.stats()
  return { lists, found, memories, stats, tasks: await store.tasks({ limit: 1000 }) }
}
