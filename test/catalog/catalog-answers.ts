/** Everything that a catalog answers, in a form that can be compared: without scores, which depend on how the index of words is divided. */
import type { Store } from '../../src/store/store.ts'

/** By kind of question, each row or number by its name. */
export type CatalogAnswers = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const WORDS = ['apple', 'banana', 'cherry', 'title', 'berlin', 'prefer', 'only7', 'only21']

export async function catalogAnswers(store: Store): Promise<CatalogAnswers> {
  const answers: Record<string, Record<string, unknown>> = {}
  const lists = {
    list: {},
    created: { order: 'created' },
    title: { order: 'title' },
    deleted: { status: 'deleted' },
    tag: { tag: 'red' },
    owner: { owner: 'ann' },
    metadata: { metadata: { n: 3 } },
    query: { query: 'title 1' },
  } as const
  for (const [name, options] of Object.entries(lists)) {
    const sessions = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await store.list({ ...options, limit: 9, cursor })
      sessions.push(...page.sessions)
      cursor = page.cursor
    }
    answers[name] = Object.fromEntries(sessions.map((session) => [session.id, session]))
    answers[`${name} in order`] = { order: sessions.map(({ id }) => id).join(' ') }
  }
  for (const word of WORDS) {
    const { hits, lag } = await store.search(word, { limit: 200 })
    const rows = hits.map(
      ({ score: _, ...hit }) => [`${hit.kind} ${hit.session} ${hit.message ?? hit.memory ?? hit.archive}`, hit] as const,
    )
    answers[`search ${word}`] = { ...sorted(rows), lag }
  }
  answers.stats = { ...(await store.stats()) }
  answers.tasks = Object.fromEntries((await store.tasks({ limit: 100 })).map((task) => [task.id, task]))
  answers.memories = Object.fromEntries((await store.memories({ owner: 'ann' })).map((memory) => [memory.id, memory]))
  return answers
}

function sorted(rows: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries([...rows].sort(([a], [b]) => (a < b ? -1 : 1)))
}
