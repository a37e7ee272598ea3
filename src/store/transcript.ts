/**
 * The messages of a session at one state of it: pages of them from either end, one of them by its id. The state says which stretches of
 * which journals hold them; they are read from there, and a fork's past from the journals of those before it. What rotted is missing
 * in the answer and told by `damage`.
 */
import { HoldfastError } from '../errors.ts'
import { hashKey, type KeyEntry, type KeyHash } from '../record/keys.ts'
import type { JournalRecord, Json, JsonObject } from '../record/record.ts'
import { branchTo, common, isOn, PAST, runOf, without } from '../session/branch.ts'
import type { InheritedKey } from '../session/command.ts'
import { pastUpTo } from '../session/lineage.ts'
import { type MessagesAppended, messageId } from '../session/records.ts'
import type { Archive, Past, Point, SessionState, Stretch } from '../session/state.ts'
import { type DamagedPlace, knownPlaces } from './damage.ts'
import { Journals } from './journals.ts'
import type { StoreParts } from './parts.ts'
import type { Found } from './records.ts'
import { type OwnReplacements, Replacements } from './replacements.ts'
import type { Seen } from './seen.ts'

/** A message as it is kept. */
export interface StoredMessage {
  readonly id: string
  /** When it was appended. */
  readonly at: string
  /** How many messages lead to it, itself included. */
  readonly depth: number
  /** The number of the archive that holds it; null if it is live. */
  readonly archive: number | null
  /** Whether its content is not the first one. */
  readonly replaced: boolean
  /** Its content is gone for good, and so is everything that it was before. */
  readonly erased?: boolean
  readonly message: JsonObject
}

export interface PageOptions {
  /** How many at most; 100 unless told. */
  readonly limit?: number
  /** Only messages before, or behind, the one with this id. */
  readonly before?: string
  readonly after?: string
  /** Only messages of this depth or a greater one, read from there on. */
  readonly depth?: number
  /** From which end; the newest messages unless told, or unless `after` or `depth` is given. */
  readonly from?: 'start' | 'end'
  /** Also those that archives hold. */
  readonly archived?: boolean
  /** Of the branch that ends with this message, instead of the current one. */
  readonly branch?: string
}

export interface Page {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[]
  /** Whether there are more in the direction of reading. */
  readonly more: boolean
  /** Where messages are missing that were written; empty if the page is whole. */
  readonly damage: readonly DamagedPlace[]
}

/** The record that holds a message. */
export interface MessageRecord {
  /** The session whose journal it stands in: of a fork's past, another one. */
  readonly session: string
  readonly position: number
  readonly record: JournalRecord
}

/** Where a message stands. */
export interface Located {
  readonly id: string
  /** The session whose journal holds it. */
  readonly journal: string
  readonly place: number
  /** The incarnation of this session in which that is so. */
  readonly born: number
  readonly found: Found
  readonly index: number
  readonly point: Point
  readonly run: number
  readonly depth: number
}

/** The newest content of a message. */
export interface Newest {
  readonly located: Located
  readonly message: JsonObject
  /** Position of the last record of this session that replaced it. */
  readonly prior: number | null
  readonly erased: boolean
}

/** A stretch as it lies in one journal. */
interface Piece extends Stretch {
  readonly journal: string
  /** Which piece of the past it is; behind all of them if it is this session's own. */
  readonly place: number
  /** The run that it counts as in this session. */
  readonly as: number
}

/** A message with where it stands, and the piece that it comes from. */
interface Placed {
  readonly stored: StoredMessage
  readonly point: Point
  readonly place: number
}

interface Cut {
  readonly depth: number
  readonly found: Found
  /** Whether a piece is the one that holds the message at which to cut. */
  readonly holds: (piece: Stretch) => boolean
}

export class Transcript {
  readonly #parts: StoreParts
  readonly #session: string
  readonly #state: SessionState
  readonly #seen: Seen | undefined
  readonly #journals: Journals
  readonly #replacements: Replacements

  /** `seen`: what was read of this session's own journal just now. */
  constructor(parts: StoreParts, session: string, state: SessionState, seen?: Seen) {
    this.#parts = parts
    this.#session = session
    this.#seen = seen
    this.#state = state
    this.#journals = new Journals(parts, session)
    this.#replacements = new Replacements(this.#journals, session, state)
  }

  async page(options: PageOptions): Promise<Page> {
    const { limit = 100, before, after, depth } = options
    const forward = (options.from ?? (after === undefined && depth === undefined ? 'end' : 'start')) === 'start'
    const branch = branchTo(this.#state, options.branch === undefined ? this.#state.head : (await this.#existing(options.branch)).point)
    const stretches = options.archived === true ? branch : without(branch, this.#state.held)
    let pieces = stretches.flatMap((stretch) => this.#pieces(stretch))
    if (before !== undefined) pieces = cutBefore(pieces, await this.#onBranch(before, branch))
    if (after !== undefined) pieces = cutBehind(pieces, await this.#onBranch(after, branch))
    if (depth !== undefined) pieces = await this.#fromDepth(pieces, depth)
    const messages: Placed[] = []
    for await (const message of forward ? this.#forward(pieces) : this.#backward(pieces)) {
      messages.push(message)
      if (messages.length > limit) break
    }
    const more = messages.length > limit
    const page = messages.slice(0, limit)
    return { messages: await this.#replacements.shown(forward ? page : page.reverse()), more, damage: this.damage }
  }

  /** What is known to be damaged in this session's journal. */
  get damage(): readonly DamagedPlace[] {
    const { engine, space, replicas } = this.#parts
    return knownPlaces(replicas.of(engine.name(space, this.#session)).replica.damage)
  }

  /** Messages of some stretches, the newest first. */
  async *newestFirst(stretches: readonly Stretch[]): AsyncGenerator<StoredMessage> {
    for await (const { stored } of this.newestPlaced(stretches)) yield stored
  }

  /** The same, with where they stand. */
  async *newestPlaced(stretches: readonly Stretch[]): AsyncGenerator<Placed> {
    for await (const placed of this.#backward(stretches.flatMap((stretch) => this.#pieces(stretch)))) {
      if (this.#state.replaced === 0) yield placed
      else yield { ...placed, stored: (await this.#replacements.shown([placed]))[0] as StoredMessage }
    }
  }

  /** The same, oldest first. */
  async *oldestFirst(stretches: readonly Stretch[]): AsyncGenerator<StoredMessage> {
    for await (const several of this.inOrder(stretches)) yield* several
  }

  /** The same, those of one record at a time. */
  async *inOrder(stretches: readonly Stretch[]): AsyncGenerator<StoredMessage[]> {
    for await (const several of this.#records(stretches.flatMap((stretch) => this.#pieces(stretch)))) {
      yield await this.#replacements.shown(several)
    }
  }

  /** Where on the branch the messages of an archive stand. */
  spansOf({ takes, covers }: Pick<Archive, 'takes' | 'covers'>): { from: number; to: number }[] {
    const on = common(branchTo(this.#state, this.#state.head), [...takes, ...covers])
    const spans: { from: number; to: number }[] = []
    for (const { from, to } of on.toSorted((a, b) => a.from - b.from)) {
      const last = spans.at(-1)
      if (last !== undefined && from < last.to + 1) last.to = Math.max(last.to, to)
      else spans.push({ from: from + 1, to })
    }
    return spans
  }

  /** The record that ended the task of an archive: in this journal, or in that of the session which it was inherited from. */
  recordOf(session: string | null, position: number): Promise<Found | undefined> {
    return this.#journals.records(session ?? this.#session).eitherCopyAt(position, 'commit.finished', 'commit.failed', 'commit.cancelled')
  }

  /** One message by its id, on whatever branch; undefined if there is none. */
  async message(id: string): Promise<StoredMessage | undefined> {
    const located = await this.locate(id)
    if (located === undefined) return undefined
    const [message] = await this.#replacements.shown([{ ...located, stored: this.#stored(located) }])
    return message
  }

  /** The record that holds a message, as it stands in its journal. Of one that a fork inherits, no messages behind those that it has. */
  async record(id: string): Promise<MessageRecord | undefined> {
    const located = await this.locate(id)
    if (located === undefined) return undefined
    const { journal, found, index } = located
    const appended = appendedIn(found)
    const messages = journal === this.#session ? appended.messages : appended.messages.slice(0, index + 1)
    return { session: journal, position: found.at, record: { ...found.record, messages: messages as Json, crc: found.crc } }
  }

  /** Every content that a message has had, the first one first. */
  async revisions(id: string): Promise<StoredMessage[]> {
    const located = await this.locate(id)
    if (located === undefined) return []
    const original = this.#stored(located)
    const later = await this.#replacements.all(id, located.place)
    const last = later.at(-1)
    if (last?.erased === true) return [{ ...original, at: last.record.at, replaced: true, erased: true, message: last.message }]
    return [original, ...later.map(({ record, message }) => ({ ...original, at: record.at, replaced: true, message }))]
  }

  /** The newest content of a message, and the last record of this session that replaced it: what a replacement has to name. */
  async newest(id: string): Promise<Newest | undefined> {
    const located = await this.locate(id)
    if (located === undefined) return undefined
    const stored = this.#stored(located)
    const [shown] = await this.#replacements.shown([{ ...located, stored }])
    const { message, erased = false } = shown ?? stored
    return { located, message, prior: await this.#replacements.lastOwn(id), erased }
  }

  /** What this session itself has replaced a message with, and whether it has erased it. */
  ownReplacements(id: string): Promise<OwnReplacements> {
    return this.#replacements.own(id)
  }

  async locate(id: string): Promise<Located | undefined> {
    const key = hashKey('message', id)
    const [own] = await this.#journals.find([key])
    if (own !== undefined) return this.#locatedAt(id, this.#session, own, this.#state.past.length)
    const inherited = (await this.findInPast([key])).get(key)
    return inherited === undefined ? undefined : this.#locatedAt(id, inherited.session, inherited, inherited.place)
  }

  /** What the past of a fork knows of keys: the messages that it inherits, and the calls that appended them. Nothing else is inherited. */
  async findInPast(keys: readonly KeyHash[]): Promise<Map<KeyHash, InheritedKey & { readonly place: number }>> {
    const known = new Map<KeyHash, InheritedKey & { readonly place: number }>()
    for (const [place, piece] of [...this.#state.past.entries()].reverse()) {
      const missing = keys.filter((key) => !known.has(key))
      for (const [i, entry] of (await this.#journals.findInPiece(piece, missing)).entries()) {
        if (entry === undefined || entry.at < piece.first || entry.at > piece.last) continue
        const found = await this.#journals.records(piece.session).at(entry.at)
        const key = missing[i] as KeyHash
        // Of a record that rotted, nobody can tell which of its messages were inherited: none is appended twice.
        if (found === undefined || isInherited(piece, found, entry, key)) known.set(key, { ...entry, session: piece.session, place })
      }
    }
    return known
  }

  async #existing(id: string): Promise<Located> {
    const located = await this.locate(id)
    if (located !== undefined) return located
    throw new HoldfastError('NOT_FOUND', `There is no message "${id}" in this session.`, { details: { message_id: id } })
  }

  async #locatedAt(id: string, journal: string, entry: KeyEntry, place: number): Promise<Located> {
    const found = await this.#journals.records(journal).at(entry.at)
    if (found === undefined) {
      throw new HoldfastError('DAMAGED', `The message "${id}" was written, but its record cannot be read. Run \`holdfast doctor\`.`, {
        details: { message_id: id, position: entry.at },
      })
    }
    const { index } = entry
    const point = this.#pointOf(found, index, place)
    const run = point.at === null ? PAST : (runOf(this.#state.runs, point.at)?.at ?? 0)
    return { id, journal, place, born: this.#state.born, found, index, depth: point.n, point, run }
  }

  #pointOf(found: Found, index: number, place: number): Point {
    const { messages, n, t, tokens } = appendedIn(found)
    const inherited = place < this.#state.past.length
    return { at: inherited ? null : [found.at, index], n: n + index + 1, t: t + Math.round((tokens * (index + 1)) / messages.length) }
  }

  async #onBranch(id: string, branch: readonly Stretch[]): Promise<Cut> {
    const located = await this.locate(id)
    // One that was appended since is on no branch that this state knows.
    const newer = located !== undefined && located.run !== PAST && located.found.at >= Number.parseInt(this.#state.version, 10)
    if (located === undefined || newer || !isOn(branch, located.run, located.depth)) {
      throw new HoldfastError('NOT_FOUND', `There is no message "${id}" on the current branch of this session.`, {
        details: { message_id: id },
      })
    }
    const { journal, depth, found } = located
    return { depth, found, holds: (piece) => (piece as Piece).journal === journal && depth > piece.from && depth <= piece.to }
  }

  /** In a run each record begins deeper than the one before, so what lies in front of a depth need not be read. */
  async #fromDepth(pieces: readonly Piece[], depth: number): Promise<Piece[]> {
    const [first, ...rest] = pieces.filter(({ to }) => to >= depth)
    if (first === undefined) return []
    const isBefore = ({ record }: Found): boolean | undefined =>
      record.type === 'messages.appended' ? (record as unknown as MessagesAppended).n < depth : undefined
    const begin = await this.#journals.records(first.journal).seek(first.first, first.last, isBefore)
    return [{ ...first, first: begin, from: Math.max(first.from, depth - 1) }, ...rest]
  }

  async *#forward(pieces: readonly Piece[]): AsyncGenerator<Placed> {
    for await (const several of this.#records(pieces)) yield* several
  }

  async *#records(pieces: readonly Piece[]): AsyncGenerator<Placed[]> {
    for (const piece of pieces) {
      const { journal, first, last } = piece
      const seen = journal === this.#session ? this.#seen?.between(first, last) : undefined
      for await (const found of seen ?? this.#journals.records(journal).forward(first, last)) {
        if (found.record.type === 'messages.appended') yield this.#messagesIn(found, piece)
      }
    }
  }

  async *#backward(pieces: readonly Piece[]): AsyncGenerator<Placed> {
    for (const piece of pieces.toReversed()) {
      for await (const several of this.#journals.records(piece.journal).severalBackward(piece.first, piece.last, 'messages.appended')) {
        for (const found of several) if (found.record.type === 'messages.appended') yield* this.#messagesIn(found, piece).reverse()
      }
    }
  }

  /** A stretch as it lies in journals: of the past, in those of several sessions. */
  #pieces(stretch: Stretch): Piece[] {
    const { past } = this.#state
    if (stretch.run !== PAST) return [{ ...stretch, journal: this.#session, place: past.length, as: stretch.run }]
    return pastUpTo(past, stretch.to)
      .map((piece, place) => ({ ...piece, from: Math.max(piece.from, stretch.from), journal: piece.session, place, as: PAST }))
      .filter(({ from, to }) => from < to)
  }

  #messagesIn(found: Found, { from, to, place, as }: Piece): Placed[] {
    const { messages, n } = appendedIn(found)
    return messages.flatMap((_, index) => {
      const depth = n + index + 1
      if (depth <= from || depth > to) return []
      return [{ stored: this.#storedAt(found, index, as, depth), point: this.#pointOf(found, index, place), place }]
    })
  }

  #stored({ found, index, run, depth }: Located): StoredMessage {
    return this.#storedAt(found, index, run, depth)
  }

  #storedAt(found: Found, index: number, run: number, depth: number): StoredMessage {
    const { messages, ids, times } = appendedIn(found)
    return {
      id: messageId(found.record.id, ids, index),
      at: times?.[index] ?? found.record.at,
      depth,
      archive: this.#archiveOf(run, depth),
      replaced: false,
      message: messages[index] as JsonObject,
    }
  }

  #archiveOf(run: number, depth: number): number | null {
    if (!isOn(this.#state.held, run, depth)) return null
    const archive = this.#state.archives.find(({ takes, covers }) => isOn(takes, run, depth) || isOn(covers, run, depth))
    return archive?.number ?? null
  }
}

function appendedIn({ record }: Found): MessagesAppended {
  return record as unknown as MessagesAppended
}

/** A record may hold the key of an operation as well as those of messages. */
function isMessageKey(found: Found, { index }: KeyEntry, key: KeyHash): boolean {
  return hashKey('message', messageId(found.record.id, appendedIn(found).ids, index)) === key
}

/** Whether a fork has the message, or all messages of the call, that the key is of. */
function isInherited(piece: Past, found: Found, entry: KeyEntry, key: KeyHash): boolean {
  if (found.record.type !== 'messages.appended') return false
  const { messages, n } = appendedIn(found)
  const depth = n + (isMessageKey(found, entry, key) ? entry.index : messages.length - 1) + 1
  return depth > piece.from && depth <= piece.to
}

/** On one branch, a depth names one message. The positions spare reading what lies on the other side of it. */
function cutBefore<T extends Stretch>(stretches: readonly T[], { depth, found, holds }: Cut): T[] {
  return stretches
    .map((stretch) => ({
      ...stretch,
      to: Math.min(stretch.to, depth - 1),
      last: holds(stretch) ? Math.min(stretch.last, found.at) : stretch.last,
    }))
    .filter(({ from, to }) => from < to)
}

function cutBehind<T extends Stretch>(stretches: readonly T[], { depth, found, holds }: Cut): T[] {
  return stretches
    .map((stretch) => ({
      ...stretch,
      from: Math.max(stretch.from, depth),
      first: holds(stretch) ? Math.max(stretch.first, found.at) : stretch.first,
    }))
    .filter(({ from, to }) => from < to)
}
