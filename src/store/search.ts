/** Full text over messages, titles, summaries and memories. The catalog finds them; what is shown is read from the journals. */
import { setImmediate } from 'node:timers/promises'
import { snippetOf } from '../catalog/snippet.ts'
import { CatalogUnavailable, type DocumentKind, type FoundDocument, type Lag, type SearchQuery } from '../engine/catalog.ts'
import { HoldfastError } from '../errors.ts'
import { ownJournal } from '../journal/own-journal.ts'
import { type Found, Records, recordIn } from '../journal/records.ts'
import { searchableOf } from '../message/searchable.ts'
import { parseQuery } from '../message/words.ts'
import { LIMITS } from '../record/limits.ts'
import type { Line } from '../record/line.ts'
import type { JsonObject } from '../record/record.ts'
import { checkChoice, checkId, checkLimit, checkList, checkTexts, checkTime, invalid } from '../session/check.ts'
import { type CommitFinished, type ExtractedMemory, type MessageReplaced, type MessagesAppended, messageId } from '../session/records.ts'
import type { DamagedPlace } from './damage/damage.ts'
import { type SearchScope, searchDamage } from './damage/search-damage.ts'
import { mergedMemories } from './memories.ts'
import type { CatalogParts, SessionParts, SpaceParts, StoreParts } from './parts.ts'

export interface SearchOptions extends SearchScope {
  /** What to search. `session` stands for titles and tags. Defaults to all kinds. */
  readonly kinds?: readonly DocumentKind[]
  /** Only messages of this role. */
  readonly role?: 'system' | 'user' | 'assistant' | 'tool'
  /** Only what was written at this time or later. */
  readonly from?: Date
  /** Only what was written before this time. */
  readonly to?: Date
  /** True for messages in archives only, false for live ones only. Defaults to both. */
  readonly archived?: boolean
  /** The largest number of hits, up to 200. Defaults to 20. */
  readonly limit?: number
}

export interface SearchHit {
  readonly kind: DocumentKind
  readonly session: string
  readonly title: string | null
  /** The id of a message. */
  readonly message: string | null
  /** The archive that holds the message, or that the summary or the memory is of. */
  readonly archive: number | null
  /** The id of a memory. */
  readonly memory: string | null
  readonly role: string | null
  readonly at: string
  /** The text around the hits, as it was written. */
  readonly snippet: string
  readonly marks: readonly (readonly [from: number, to: number])[]
  /** Higher is better. Scores of two searches cannot be compared. */
  readonly score: number
}

export interface SearchResult {
  readonly hits: readonly SearchHit[]
  /** Text that is not in the catalog yet, and was not looked at; null if there is none. */
  readonly lag: Lag | null
  /** Damaged sessions that were searched: text of theirs may be missing among the hits. At most 100; one place for each. */
  readonly damage: readonly DamagedPlace[]
  /** Whether there are more of them. */
  readonly moreDamage: boolean
}

const KINDS: readonly DocumentKind[] = ['message', 'session', 'summary', 'memory']
const ROLES: readonly string[] = ['system', 'user', 'assistant', 'tool']

export async function search(parts: SessionParts, words: string, options: SearchOptions): Promise<SearchResult> {
  const { limit = 20 } = options
  checkLimit(limit, LIMITS.pageHits)
  if (typeof words !== 'string') throw invalid(`Give the words to search for as a text; got a value of type ${typeof words}.`)
  const text = parseQuery(words)
  // A few more, for those that can no longer be read and memories that no longer hold.
  const { found, lag } = await findDocuments(parts, { ...scopeOf(options), text, limit: limit + 20 })
  const hits: SearchHit[] = []
  const unread = new Set<string>()
  for (let next = 0; next < found.length && hits.length < limit; ) {
    // As many as are missing, together: where the store is a database, each would wait for answers.
    const wanted = found.slice(next, next + limit - hits.length)
    next += wanted.length
    const lines = await linesOf(parts, wanted)
    const read = await Promise.all(wanted.map((document, i) => matchOf(parts, document, lines?.[i])))
    for (const [i, match] of read.entries()) {
      const { kind, name } = wanted[i] as FoundDocument
      if (match === undefined && kind === 'message') unread.add(name)
      if (match === undefined) continue
      hits.push({ ...match.hit, ...snippetOf(match.text(), text) })
      // A snippet of a long text takes a while, and others wait for this thread.
      await setImmediate()
    }
  }
  // The catalog knows a message that the journal lost: then the whole journal is looked at, and found to be damaged.
  if (unread.size > 0) await parts.catalog.notice({ damaged: [...unread], whole: [] })
  return { hits, lag, ...(await searchDamage(parts, options)) }
}

/** Asks the catalog. Without one there is no full text. */
export async function findDocuments(
  parts: SessionParts,
  query: Omit<SearchQuery, 'space' | 'now'>,
): Promise<{ readonly found: readonly FoundDocument[]; readonly lag: Lag | null }> {
  try {
    return await parts.catalog.ask('search', { ...query, space: parts.space, now: parts.clock.now() })
  } catch (error) {
    if (!(error instanceof CatalogUnavailable)) throw error
    const remedy = error.reason === 'absent' ? '' : ' Try again.'
    throw new HoldfastError('UNAVAILABLE', `The full-text index cannot be used: ${error.message}${remedy}`, { cause: error })
  }
}

function scopeOf({
  kinds = KINDS,
  session,
  role,
  tag,
  owner,
  from,
  to,
  archived,
}: SearchOptions): Omit<SearchQuery, 'space' | 'now' | 'text' | 'limit'> {
  checkList('`kinds`', kinds)
  checkTexts({ tag, owner })
  const unknown = kinds.find((kind) => !KINDS.includes(kind))
  if (unknown !== undefined || kinds.length === 0) throw invalid(`\`kinds\` are some of ${KINDS.join(', ')}; got ${unknown ?? 'none'}.`)
  if (role !== undefined) checkChoice('role', role, ROLES)
  return {
    kinds,
    ...(session === undefined ? {} : { session: checkId('The id of a session', session) }),
    ...(role === undefined ? {} : { role }),
    ...(tag === undefined ? {} : { tag }),
    ...(owner === undefined ? {} : { owner }),
    ...(from === undefined ? {} : { from: checkTime('from', from).getTime() }),
    ...(to === undefined ? {} : { to: checkTime('to', to).getTime() }),
    ...(archived === undefined ? {} : { archived }),
  }
}

/** What was found, and what is shown of it: made one by one, as it may be long. */
interface Match {
  readonly hit: Omit<SearchHit, 'snippet' | 'marks'>
  readonly text: () => string
}

/** Undefined if what was found is not there any more. */
async function matchOf(parts: SpaceParts & CatalogParts, found: FoundDocument, line?: Line): Promise<Match | undefined> {
  const { kind, session, title, tags, archive, role, at, score } = found
  const hit = { kind, session, title, message: null, archive, memory: null, role, at: new Date(at).toISOString(), score }
  if (kind === 'session') return { hit, text: () => [title ?? '', ...tags].join('\n').trim() }
  const record = await recordOf(parts, found, line)
  if (record === undefined) return undefined
  if (kind === 'message') {
    const message = messageIn(record, found.index)
    return message === undefined ? undefined : { hit: { ...hit, message: message.id }, text: () => searchableOf(message.message).text }
  }
  const { abstract, overview, memories, owner } = record.record as unknown as CommitFinished
  if (kind === 'summary') return { hit, text: () => `${abstract}\n${overview}` }
  const memory = memories[found.index]
  if (memory?.text === undefined || !(await stillHolds(parts, owner, memory, found))) return undefined
  const { id, text } = memory
  return { hit: { ...hit, memory: id }, text: () => text }
}

/** The lines of all that was found at once, if the engine can; undefined if not. */
async function linesOf({ engine }: Pick<StoreParts, 'engine'>, found: readonly FoundDocument[]): Promise<(Line | undefined)[] | undefined> {
  return engine.lines?.(found.map(({ name, source }) => ({ name, position: source })))
}

/** The record that has the content of what was found; undefined if it rotted or was purged, or its key was destroyed. */
async function recordOf(
  { engine }: Pick<StoreParts, 'engine'>,
  { name, source, kind }: FoundDocument,
  line?: Line,
): Promise<Found | undefined> {
  const records = new Records(ownJournal(engine, name))
  const look = async (): Promise<Found | undefined> =>
    (line === undefined ? undefined : recordIn(line)) ??
    (kind === 'message' ? records.at(source) : records.eitherCopyAt(source, 'commit.finished'))
  const found = await look().catch(ifKeyless)
  const isMessage = found?.record.type === 'messages.appended' || found?.record.type === 'message.replaced'
  return isMessage === (kind === 'message') ? found : undefined
}

/** One session that nobody can read any more holds up no search. */
function ifKeyless(error: unknown): undefined {
  if (error instanceof HoldfastError && error.details.reason === 'no session key') return undefined
  throw error
}

function messageIn({ record }: Found, index: number): { id: string; message: JsonObject } | undefined {
  if (record.type === 'message.replaced') {
    const { target, message } = record as unknown as MessageReplaced
    return { id: target, message: message as JsonObject }
  }
  const { messages, ids } = record as unknown as MessagesAppended
  const message = messages[index]
  return message === undefined ? undefined : { id: messageId(record.id, ids, index), message: message as JsonObject }
}

/** The id of a message that was found; undefined if it cannot be read any more. */
export async function messageIdOf(parts: Pick<StoreParts, 'engine'>, found: FoundDocument): Promise<string | undefined> {
  const record = await recordOf(parts, found)
  return record === undefined ? undefined : messageIn(record, found.index)?.id
}

/** Whether a memory was not replaced by a later one with the same key. */
async function stillHolds(
  parts: SpaceParts & CatalogParts,
  owner: string | null,
  { key }: ExtractedMemory,
  { session, archive }: FoundDocument,
): Promise<boolean> {
  const [merged] = await mergedMemories(parts, owner, [key])
  const source = merged?.sources.at(-1)
  return source?.session === session && source.archive === archive
}
