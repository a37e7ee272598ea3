/** Cursors of pages: opaque texts that say what they are a cursor of, and where its next page begins. */
import { HoldfastError } from '../errors.ts'

export function pageCursor(of: readonly unknown[], place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([of, place])).toString('base64url')
}

/** The place that a cursor names. INVALID_ARGUMENT if it is the cursor of something else. */
export function placeIn(cursor: string, of: readonly unknown[]): readonly unknown[] {
  try {
    const [named, place] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[]
    if (JSON.stringify(named) === JSON.stringify(of) && Array.isArray(place)) return place
  } catch {
    // Reported below.
  }
  throw staleCursor()
}

export function staleCursor(): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', 'The cursor does not fit here, or no longer fits. Begin with the first page.', {
    details: { reason: 'cursor' },
  })
}
