/**
 * The messages of a session at one state of it: pages of them from either end, one of them by its id. The state says which stretches of
 * which journals hold them; they are read from there, and a fork's past from the journals of those before it. What rotted is missing
 * in the answer and told by `damage`.
 */
import { HoldfastError } from '../errors.ts'
import { hashKey, type KeyEntry, type KeyHash } from '../record/keys.ts'
import type { JsonObject } from '../record/record.ts'
import { archivedOf, branchTo, isOn, PAST, runOf, without } from '../session/branch.ts'
import { pastUpTo } from '../session/lineage.ts'
import { type MessageReplaced, type MessagesAppended, messageId } from '../session/records.ts'
import type { Past, Point, SessionState, Stretch } from '../session/state.ts'
import type { StoreParts } from './parts.ts'
import { type Found, Records } from './records.ts'

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
  readonly message: JsonObject
}

export interface PageOptions {
  /** How many at most; 100 unless told. */
  readonly limit?: number
  /** Only messages before, or behind, the one with this id. */
  readonly before?: string
  readonly after?: string
  /** From which end; the newest messages unless told, or unless `after` is given. */
  readonly from?: 'start' | 'end'
  /** Also those that archives hold. */
  readonly archived?: boolean
}

export interface Page {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[]
  /** Whether there are more in the direction of reading. */
  readonly more: boolean
}

/** Where a message stands. */
export interface Located {
  readonly id: string
  /** The session whose journal holds it. */
  readonly journal: string
  readonly found: Found
  readonly index: number
  readonly point: Point
  readonly run: number
  readonly depth: number
}

/** A stretch as it lies in one journal. */
interface Piece extends Stretch {
  readonly journal: string
  /** The run that it counts as in this session. */
  readonly as: number
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
  readonly #records = new Map<string, Records>()

  constructor(parts: StoreParts, session: string, state: SessionState) {
    this.#parts = parts
    this.#session = session
    this.#state = state
  }

  async page(options: PageOptions): Promise<Page> {
    const { limit = 100, before, after } = options
    const forward = after !== undefined || (before === undefined && options.from === 'start')
    const branch = branchTo(this.#state, this.#state.head)
    const stretches = options.archived === true ? branch : without(branch, archivedOf(this.#state))
    let pieces = stretches.flatMap((stretch) => this.#pieces(stretch))
    if (before !== undefined) pieces = cutBefore(pieces, await this.#onBranch(before, branch))
    if (after !== undefined) pieces = cutBehind(pieces, await this.#onBranch(after, branch))
    const messages: StoredMessage[] = []
    for await (const message of forward ? this.#forward(pieces) : this.#backward(pieces)) {
      messages.push(message)
      if (messages.length > limit) break
    }
    const more = messages.length > limit
    const page = messages.slice(0, limit)
    return { messages: await this.#withReplacements(forward ? page : page.reverse()), more }
  }

  /** Messages of some stretches, the newest first. */
  async *newestFirst(stretches: readonly Stretch[]): AsyncGenerator<StoredMessage> {
    for await (const message of this.#backward(stretches.flatMap((stretch) => this.#pieces(stretch)))) {
      const [shown] = await this.#withReplacements([message])
      yield shown as StoredMessage
    }
  }

  /** The same, oldest first. */
  async *oldestFirst(stretches: readonly Stretch[]): AsyncGenerator<StoredMessage> {
    for await (const message of this.#forward(stretches.flatMap((stretch) => this.#pieces(stretch)))) {
      const [shown] = await this.#withReplacements([message])
      yield shown as StoredMessage
    }
  }

  /** A record that an archive names: in this journal, or in that of the session which it was inherited from. */
  recordOf(session: string | null, position: number): Promise<Found | undefined> {
    return this.#recordsOf(session ?? this.#session).at(position)
  }

  /** One message by its id, on whatever branch; undefined if there is none. */
  async message(id: string): Promise<StoredMessage | undefined> {
    const located = await this.locate(id)
    if (located === undefined) return undefined
    const [message] = await this.#withReplacements([this.#stored(located)])
    return message
  }

  /** Every content that a message has had, the first one first. */
  async revisions(id: string): Promise<StoredMessage[]> {
    const located = await this.locate(id)
    if (located === undefined) return []
    const original = this.#stored(located)
    const later: StoredMessage[] = []
    for (let found = await this.#replacement(id); found !== undefined; found = await this.#prior(found)) {
      later.unshift({ ...original, at: found.found.record.at, replaced: true, message: messageOf(found.found) })
    }
    return [original, ...later]
  }

  /** The newest content of a message, with the record that holds it: what a replacement has to name. */
  async newest(id: string): Promise<{ message: JsonObject; prior: number | null } | undefined> {
    const located = await this.locate(id)
    if (located === undefined) return undefined
    const replacement = await this.#replacement(id)
    // What a parent replaced is not in this journal.
    const own = replacement?.journal === this.#session ? replacement.found.at : null
    return { message: replacement === undefined ? this.#stored(located).message : messageOf(replacement.found), prior: own }
  }

  async locate(id: string): Promise<Located | undefined> {
    const key = hashKey('message', id)
    const [own] = await this.#replica(this.#session).find([key])
    if (own !== undefined) return this.#locatedAt(id, this.#session, own, undefined)
    const inherited = (await this.findInPast([key])).get(key)
    return inherited === undefined ? undefined : this.#locatedAt(id, inherited.journal, inherited, inherited.piece)
  }

  /** What the past of a fork knows of keys: messages that it inherits, and operations that were carried out before it began. */
  async findInPast(keys: readonly KeyHash[]): Promise<Map<KeyHash, KeyEntry & { journal: string; piece: Past }>> {
    const found = new Map<KeyHash, KeyEntry & { journal: string; piece: Past }>()
    for (const piece of this.#state.past.toReversed()) {
      const missing = keys.filter((key) => !found.has(key))
      for (const [i, entry] of (await this.#findIn(piece, missing)).entries()) {
        if (entry === undefined || entry.at >= piece.end || entry.at < piece.born) continue
        const record = await this.#recordsOf(piece.session).at(entry.at)
        const key = missing[i] as KeyHash
        const ofMessage = record?.record.type === 'messages.appended' && isMessageKey(record, entry, key)
        if (ofMessage && !isWithin(piece, record, entry.index)) continue
        found.set(key, { ...entry, journal: piece.session, piece })
      }
    }
    return found
  }

  /** The session that a piece belongs to may have been deleted and created anew: then its keys are those of a former incarnation. */
  async #findIn({ session, born }: Past, keys: readonly KeyHash[]): Promise<(KeyEntry | undefined)[]> {
    const { replica, journal } = this.#parts.replicas.of(this.#parts.engine.name(this.#parts.space, session))
    const { state } = await replica.read()
    if (state.born === born) return replica.find(keys)
    const before = (await journal.segments()).findLast((first) => first <= state.born)
    return before === undefined ? [] : journal.lookup(keys, born, before)
  }

  async #locatedAt(id: string, journal: string, entry: KeyEntry, piece: Past | undefined): Promise<Located | undefined> {
    const found = await this.#recordsOf(journal).at(entry.at)
    if (found === undefined) {
      throw new HoldfastError('DAMAGED', `The message "${id}" was written, but its record cannot be read. Run \`holdfast doctor\`.`, {
        details: { message_id: id, position: entry.at },
      })
    }
    const { messages, n, t, tokens } = appendedIn(found)
    const depth = n + entry.index + 1
    const amount = { n: depth, t: t + Math.round((tokens * (entry.index + 1)) / messages.length) }
    const at = [found.at, entry.index] as const
    const inherited = piece !== undefined
    return {
      id,
      journal,
      found,
      index: entry.index,
      depth,
      point: { ...amount, at: inherited ? null : at },
      run: inherited ? PAST : (runOf(this.#state.runs, at)?.at ?? 0),
    }
  }

  async #onBranch(id: string, branch: readonly Stretch[]): Promise<Cut> {
    const located = await this.locate(id)
    if (located === undefined || !isOn(branch, located.run, located.depth)) {
      throw new HoldfastError('NOT_FOUND', `There is no message "${id}" on the current branch of this session.`, {
        details: { message_id: id },
      })
    }
    const { journal, depth, found } = located
    return { depth, found, holds: (piece) => (piece as Piece).journal === journal && depth > piece.from && depth <= piece.to }
  }

  async *#forward(pieces: readonly Piece[]): AsyncGenerator<StoredMessage> {
    for (const piece of pieces) {
      for await (const found of this.#recordsOf(piece.journal).forward(piece.first, piece.last)) {
        if (found.record.type === 'messages.appended') yield* this.#messagesIn(found, piece)
      }
    }
  }

  async *#backward(pieces: readonly Piece[]): AsyncGenerator<StoredMessage> {
    for (const piece of pieces.toReversed()) {
      for await (const found of this.#recordsOf(piece.journal).backward(piece.first, piece.last)) {
        if (found.record.type === 'messages.appended') yield* this.#messagesIn(found, piece).reverse()
      }
    }
  }

  /** A stretch as it lies in journals: of the past, in those of several sessions. */
  #pieces(stretch: Stretch): Piece[] {
    if (stretch.run !== PAST) return [{ ...stretch, journal: this.#session, as: stretch.run }]
    return pastUpTo(this.#state.past, stretch.to)
      .filter(({ to }) => to > stretch.from)
      .map((piece) => ({ ...piece, from: Math.max(piece.from, stretch.from), journal: piece.session, as: PAST }))
  }

  #messagesIn(found: Found, { from, to, as }: Piece): StoredMessage[] {
    const { messages, n } = appendedIn(found)
    return messages.flatMap((_, index) => {
      const depth = n + index + 1
      return depth > from && depth <= to ? [this.#storedAt(found, index, as, depth)] : []
    })
  }

  #stored({ found, index, run, depth }: Located): StoredMessage {
    return this.#storedAt(found, index, run, depth)
  }

  #storedAt(found: Found, index: number, run: number, depth: number): StoredMessage {
    const { messages, ids } = appendedIn(found)
    return {
      id: messageId(found.record.id, ids, index),
      at: found.record.at,
      depth,
      archive: this.#archiveOf(run, depth),
      replaced: false,
      message: messages[index] as JsonObject,
    }
  }

  #archiveOf(run: number, depth: number): number | null {
    const archive = this.#state.archives.find(({ takes, covers }) => isOn(takes, run, depth) || isOn(covers, run, depth))
    return archive?.number ?? null
  }

  async #withReplacements(messages: readonly StoredMessage[]): Promise<StoredMessage[]> {
    if (this.#state.replaced === 0) return [...messages]
    const replaced: StoredMessage[] = []
    for (const message of messages) {
      const replacement = await this.#replacement(message.id)
      replaced.push(replacement === undefined ? message : { ...message, replaced: true, message: messageOf(replacement.found) })
    }
    return replaced
  }

  /** The record with the newest content of a message, in this journal or in the past; a parent's later ones are not inherited. */
  async #replacement(id: string): Promise<Replacement | undefined> {
    if (this.#state.replaced === 0) return undefined
    const key = hashKey('replacement', id)
    const [own] = await this.#replica(this.#session).find([key])
    if (own !== undefined) return this.#replacementAt(this.#session, own.at, Number.POSITIVE_INFINITY)
    for (const piece of this.#state.past.toReversed()) {
      const [entry] = await this.#findIn(piece, [key])
      const replacement = entry === undefined ? undefined : await this.#replacementAt(piece.session, entry.at, piece.end)
      if (replacement !== undefined) return replacement
    }
    return undefined
  }

  async #prior({ journal, found }: Replacement): Promise<Replacement | undefined> {
    const { prior } = found.record as unknown as MessageReplaced
    return prior === null ? undefined : this.#replacementAt(journal, prior, Number.POSITIVE_INFINITY)
  }

  async #replacementAt(journal: string, position: number, before: number): Promise<Replacement | undefined> {
    for (let at: number | null = position; at !== null; ) {
      const found: Found | undefined = await this.#recordsOf(journal).at(at)
      if (found === undefined) return undefined
      if (at < before) return { journal, found }
      at = (found.record as unknown as MessageReplaced).prior
    }
    return undefined
  }

  #recordsOf(session: string): Records {
    const known = this.#records.get(session)
    if (known !== undefined) return known
    const { engine, space, replicas } = this.#parts
    const records = new Records(replicas.of(engine.name(space, session)).journal)
    this.#records.set(session, records)
    return records
  }

  #replica(session: string) {
    const { engine, space, replicas } = this.#parts
    return replicas.of(engine.name(space, session)).replica
  }
}

interface Replacement {
  readonly journal: string
  readonly found: Found
}

function appendedIn({ record }: Found): MessagesAppended {
  return record as unknown as MessagesAppended
}

function messageOf({ record }: Found): JsonObject {
  return (record as unknown as MessageReplaced).message as JsonObject
}

/** A record may hold the key of an operation as well as those of messages. */
function isMessageKey(found: Found, { index }: KeyEntry, key: KeyHash): boolean {
  return hashKey('message', messageId(found.record.id, appendedIn(found).ids, index)) === key
}

function isWithin(piece: Past, found: Found, index: number): boolean {
  const depth = appendedIn(found).n + index + 1
  return found.at >= piece.first && found.at <= piece.last && depth > piece.from && depth <= piece.to
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
