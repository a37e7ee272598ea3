/**
 * Where the keys go from a row of the list. `place` is the row's place; `lastPlace` is its last one, for a row that has left the list: the row
 * after it is there now.
 */
export function nextPlace(place: number | undefined, lastPlace: number, by: number, count: number): number {
  const from = place ?? lastPlace - (by > 0 ? 1 : 0)
  return Math.min(Math.max(from + by, 0), count - 1)
}
