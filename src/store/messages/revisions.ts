/** The contents that a message has had, page by page, from the last one back to the first. */
import type { Message } from '../../message/shapes.ts'
import { jsonBytes, PageBudget } from '../../record/json-bytes.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import { checkLimit } from '../../session/check.ts'
import { pageCursor, placeIn, staleCursor } from '../page-cursor.ts'
import type { Replacement, ReplacementPlace } from './replacements.ts'
import type { KeptMessage, StoredMessage } from './stored-message.ts'

export interface RevisionOptions {
  /** The largest number of contents, up to 1000. Defaults to 1000. A page has fewer where they are large: it holds about 4 MiB, or one content. */
  readonly limit?: number
  /** The cursor of the page before. Null begins at the first page. */
  readonly cursor?: string | null | undefined
}

/** Contents that a message has had. The first page has the newest ones. */
export interface RevisionPage<M extends object = Message> {
  /** Oldest first. Empty if there is no such message. */
  readonly revisions: readonly StoredMessage<M>[]
  /** The cursor of the page with earlier contents, or null on the last one. */
  readonly cursor: string | null
}

/** The record that the page begins with; 'first' for the first content, which no record replaced. Undefined without a cursor. */
export type RevisionPlace = ReplacementPlace | 'first' | undefined

export interface Revision {
  readonly stored: KeptMessage
  readonly place: Exclude<RevisionPlace, undefined>
}

export function revisionPlace(id: string, { cursor }: RevisionOptions): RevisionPlace {
  if (cursor == null) return undefined
  const place = placeIn(cursor, cursorOf(id))
  if (place.length === 0) return 'first'
  const [session, position] = place
  if (typeof session !== 'string' || !Number.isSafeInteger(position)) throw staleCursor()
  return { session, position: position as number }
}

/** The contents of a message, given what it was replaced with, the last one first. */
export async function* revisionsOf(
  original: KeptMessage,
  replacements: AsyncIterable<Replacement & ReplacementPlace>,
): AsyncGenerator<Revision> {
  for await (const { record, message, erased, session, position } of replacements) {
    const stored = { ...original, at: record.at, replaced: true, message, ...(erased ? { erased } : {}) }
    yield { stored, place: { session, position } }
    // Of an erased message nothing earlier is left.
    if (erased) return
  }
  yield { stored: original, place: 'first' }
}

export async function revisionPage(
  id: string,
  revisions: AsyncIterable<Revision>,
  options: RevisionOptions,
): Promise<RevisionPage<JsonObject>> {
  const { limit = LIMITS.pageMessages } = options
  checkLimit(limit, LIMITS.pageMessages)
  const budget = new PageBudget(LIMITS.pageBytes)
  const page: KeptMessage[] = []
  for await (const { stored, place } of revisions) {
    if (page.length === limit || !budget.add(jsonBytes(stored.message))) {
      return { revisions: page, cursor: pageCursor(cursorOf(id), place === 'first' ? [] : [place.session, place.position]) }
    }
    page.unshift(stored)
  }
  return { revisions: page, cursor: null }
}

function cursorOf(id: string): readonly string[] {
  return ['revisions', id]
}
