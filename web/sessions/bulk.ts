/** What the bar for several sessions does, without its looks. */

/** A browser opens few connections to one server. */
const AT_ONCE = 4

/** Does the work for each session, a few at a time. An error ends it; work that has begun ends by itself. */
export async function forEachSession(ids: readonly string[], work: (id: string) => Promise<unknown>): Promise<void> {
  const waiting = [...ids]
  const run = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) await work(id)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, run))
}

/** Reads `red -blue`: the tags to add, and those to remove, which have a minus before them. */
export function tagsIn(text: string): { readonly added: readonly string[]; readonly removed: readonly string[] } {
  const words = text.split(/[\s,]+/).filter((word) => word !== '')
  return {
    added: words.filter((word) => !word.startsWith('-')),
    removed: words.filter((word) => word.startsWith('-')).map((word) => word.slice(1)),
  }
}
