/** The results of Find in a session. */

/** The order of the list: the newest first, as a person looks from the end. */
export function newestFirst<Hit extends { readonly at: string }>(hits: readonly Hit[]): Hit[] {
  return hits.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
}

/** The place in a list that goes round: after the last comes the first, before the first the last. */
export function wrapped(place: number, count: number): number {
  return count === 0 ? 0 : ((place % count) + count) % count
}

/** How many there are, and which one is shown. `most` is how many the server returns at most. */
export function hitsText(query: string, place: number, count: number, most: number): string {
  if (query === '') return ''
  return count === 0 ? 'nothing' : `${place + 1} of ${count}${count === most ? '+' : ''}`
}
