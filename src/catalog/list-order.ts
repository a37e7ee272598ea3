/** The order of lists: times newest first, titles from a to z; ids decide between equals, so that it is the same in every call. */
import type { ListOrder, ListPosition } from '../engine/catalog.ts'

interface Listed {
  readonly id: string
  readonly title: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export function placeOf({ id, title, createdAt, updatedAt }: Listed, order: ListOrder): ListPosition {
  return { id, by: order === 'title' ? (title ?? '').toLowerCase() : order === 'created' ? createdAt : updatedAt }
}

export function comparePlaces(a: ListPosition, b: ListPosition, order: ListOrder): number {
  return (order === 'title' ? compareTexts(a.by, b.by) : compareTexts(b.by, a.by)) || compareTexts(a.id, b.id)
}

/** As a catalog compares texts: by their bytes. */
export function compareTexts(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
