/**
 * The messages of a session at one state of it: pages of them from either end, one of them by its id. The state says which stretches of
 * which journals hold them; they are read from there, and a fork's past from the journals of those before it. A message that cannot be
 * read is missing in the answer, and `damage` says where and how many.
 */
import { HoldfastError } from '../../errors.ts'
import type { Found } from '../../journal/records.ts'
import type { Message } from '../../message/shapes.ts'
import { hashKey, type KeyEntry, type KeyHash } from '../../record/key-hash.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JournalRecord, Json, JsonObject } from '../../record/record.ts'
import { branchTo, common, isOn, PAST, runOf, without } from '../../session/branch.ts'
import { checkChoice, checkCount, checkLimit, checkTexts } from '../../session/check.ts'
import type { InheritedKey } from '../../session/command.ts'
import { withoutRepeated } from '../../session/damaged-places.ts'
import { type MessagesAppended, messageId } from '../../session/records.ts'
import { noMessage } from '../../session/refusals.ts'
import type { Archive, Past, Point, SessionState, Stretch } from '../../session/state.ts'
import { BranchDamage } from '../damage/branch-damage.ts'
import type { DamagedPlace } from '../damage/damage.ts'
import type { SpaceParts } from '../parts.ts'
import { appendedIn, BranchReader, isGap, isPlaced, type Placed } from './branch-reader.ts'
import { type Cut, cutAfter, cutBefore } from './cut.ts'
import type { Gap, Piece } from './depth-gaps.ts'
import { Journals } from './journals.ts'
import type { LoadedMessages } from './loaded-messages.ts'
import { type PageSize, type ShownPage, shownPage } from './page-read.ts'
import { type OnLost, type OwnReplacements, type Reach, Replacements } from './replacements.ts'
import {
  type Revision,
  type RevisionOptions,
  type RevisionPage,
  type RevisionPlace,
  revisionPage,
  revisionPlace,
  revisionsOf,
} from './revisions.ts'
import type { KeptMessage, StoredMessage } from './stored-message.ts'

export interface PageOptions {
  /** The largest number of messages, up to 1000. Defaults to 100. A page has fewer where they are large: it holds about 4 MiB, or one message. */
  readonly limit?: number
  /** Only messages before the one with this id. */
  readonly before?: string
  /** Only messages after the one with this id. */
  readonly after?: string
  /** Only messages of this depth or a greater one, from the first of them. */
  readonly depth?: number
  /** From which end to read. Defaults to the end, or to the start if `after` or `depth` is given. */
  readonly from?: 'start' | 'end'
  /** Whether to include messages that archives hold. Defaults to false. */
  readonly archived?: boolean
  /** The message that ends the branch to read. Defaults to the head. */
  readonly branch?: string
}

export interface Page<M extends object = Message> {
  /** Oldest first. */
  readonly messages: readonly StoredMessage<M>[]
  /** Whether there are more in the direction of reading. */
  readonly more: boolean
  /**
   * What cannot be read among these messages, and next to them where there is no further message. Reading page by page reports each place
   * once.
   */
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
  /** What cannot be read and may have changed it. */
  readonly damage: readonly DamagedPlace[]
}

/** A replacement that cannot be read. */
interface Lost {
  readonly session: string
  readonly position: number
}

/** The options of a page that a caller asks for. */
export function checkPage({ limit, before, after, depth, from, branch }: PageOptions): void {
  if (limit !== undefined) checkLimit(limit, LIMITS.pageMessages)
  if (depth !== undefined) checkCount('`depth`', depth, Number.MAX_SAFE_INTEGER)
  if (from !== undefined) checkChoice('from', from, ['start', 'end'])
  checkTexts({ before, after, branch })
}

export class Transcript {
  readonly #session: string
  readonly #state: SessionState
  readonly #journals: Journals
  readonly #replacements: Replacements
  readonly #damage: BranchDamage
  readonly #reader: BranchReader

  /** `loaded`: what was read of this session's own journal just now. */
  constructor(parts: SpaceParts, session: string, state: SessionState, loaded?: LoadedMessages) {
    this.#session = session
    this.#state = state
    this.#journals = new Journals(parts, session)
    this.#replacements = new Replacements(this.#journals, session, state)
    this.#damage = new BranchDamage(this.#journals, session, state)
    this.#reader = new BranchReader(this.#journals, session, state, loaded)
  }

  /** `openEnd`: messages may have followed the newest one. False for a view that ends where somebody has put the end. */
  async page(
    options: PageOptions,
    { openEnd = true, bytes = LIMITS.pageBytes }: { readonly openEnd?: boolean; readonly bytes?: number } = {},
  ): Promise<Page<JsonObject>> {
    const { limit = 100, before, after, depth } = options
    const forward = (options.from ?? (after === undefined && depth === undefined ? 'end' : 'start')) === 'start'
    const end = options.branch === undefined ? this.#state.head : (await this.#existing(options.branch)).point
    const branch = branchTo(this.#state, end)
    const stretches = options.archived === true ? branch : without(branch, this.#state.held)
    let pieces = stretches.flatMap((stretch) => this.#reader.pieces(stretch))
    const covered = {
      low: this.#lowest(pieces, options.archived === true),
      high: openEnd && options.branch === undefined ? Number.POSITIVE_INFINITY : (end.at?.[0] ?? 0) + 1,
    }
    const [upper, lower] = [before === undefined ? undefined : await this.#onBranch(before, branch), await this.#cutAt(after, branch)]
    if (upper !== undefined) {
      pieces = cutBefore(pieces, upper)
      covered.high = upper.position
    }
    if (lower !== undefined) {
      pieces = cutAfter(pieces, lower)
      covered.low = lower.position
    }
    if (depth !== undefined) {
      pieces = await this.#fromDepth(pieces, depth)
      covered.low = Math.max(covered.low, this.#lowest(pieces, false))
    }
    const lost: Lost[] = []
    const items = forward ? this.#reader.forward(pieces) : this.#reader.backward(pieces)
    const { shown, read } = await this.#shownPage(items, { limit, bytes }, (session, position) => lost.push({ session, position }))
    if (read.more && read.messages.length > 0) covered[forward ? 'high' : 'low'] = positionOf(read.messages.at(-1) as Placed)
    const places = await this.#damage.places(read.gaps.flat(), [covered.low, covered.high])
    const damage = lost.length === 0 ? places : withoutRepeated([...places, ...(await this.#damage.records(lost))])
    return { messages: forward ? shown : shown.reverse(), more: read.more, damage }
  }

  /** All damage of the branch, and of the journal that it ends in. Reads both. */
  async allDamage(): Promise<DamagedPlace[]> {
    const gaps: Gap[] = []
    const branch = branchTo(this.#state, this.#state.head)
    for await (const item of this.#reader.forward(branch.flatMap((stretch) => this.#reader.pieces(stretch))))
      if (!isPlaced(item)) gaps.push(item)
    return this.#damage.allPlaces(gaps)
  }

  /** The damage of an answer with these gaps. `from`: it also covers this session's journal after this position, up to the end. */
  damageOf(gaps: readonly Gap[], from = Number.POSITIVE_INFINITY): Promise<DamagedPlace[]> {
    return this.#damage.places(gaps, from === Number.POSITIVE_INFINITY ? [0, 0] : [from, Number.POSITIVE_INFINITY])
  }

  /** Damage of records that an archive names and that cannot be read. */
  damagedRecords(records: readonly { readonly session: string | null; readonly position: number }[]): Promise<DamagedPlace[]> {
    return this.#damage.records(records.map(({ session, position }) => ({ session: session ?? this.#session, position })))
  }

  /** Why a message was not found: DAMAGED if it may be one that cannot be read, undefined if there is none. Slow, if a journal is long. */
  whyUnknown(id: string): Promise<HoldfastError | undefined> {
    return this.#damage.whyUnknown(id)
  }

  /** Messages of some stretches, the newest first. Gaps between them are given to `onGap` as they are met. */
  async *newestFirst(stretches: readonly Stretch[], onGap?: (gap: Gap) => void): AsyncGenerator<KeptMessage> {
    for await (const { stored } of this.newestPlaced(stretches, onGap)) yield stored
  }

  /** The same, with where they stand. */
  async *newestPlaced(stretches: readonly Stretch[], onGap?: (gap: Gap) => void): AsyncGenerator<Placed> {
    for await (const placed of this.#reader.backward(stretches.flatMap((stretch) => this.#reader.pieces(stretch)))) {
      if (!isPlaced(placed)) onGap?.(placed)
      else if (this.#state.replaced === 0) yield placed
      else yield { ...placed, stored: (await this.#replacements.shown([placed]))[0] as KeptMessage }
    }
  }

  /** The same, oldest first. */
  async *oldestFirst(stretches: readonly Stretch[], onGap?: (gap: Gap) => void): AsyncGenerator<KeptMessage> {
    for await (const several of this.inOrder(stretches, onGap)) yield* several
  }

  /** The same, those of one record at a time. */
  async *inOrder(stretches: readonly Stretch[], onGap?: (gap: Gap) => void): AsyncGenerator<KeptMessage[]> {
    for await (const several of this.#reader.records(stretches.flatMap((stretch) => this.#reader.pieces(stretch)))) {
      if (isGap(several)) onGap?.(several)
      else yield* this.#shownInSlices(several)
    }
  }

  /** Messages of one record may have been replaced with much more. */
  async *#shownInSlices(messages: readonly Placed[]): AsyncGenerator<KeptMessage[]> {
    for (let rest = messages; rest.length > 0; ) {
      const shown = await this.#replacements.shown(rest)
      yield shown
      rest = rest.slice(shown.length)
    }
  }

  /** A page of the messages of some stretches in the order of their depths, from a depth on. */
  async pageOf(
    stretches: readonly Stretch[],
    limit: number,
    depth?: number,
  ): Promise<{ messages: KeptMessage[]; gaps: Gap[]; more: boolean }> {
    const inOrder = stretches.toSorted((a, b) => a.from - b.from).flatMap((stretch) => this.#reader.pieces(stretch))
    const pieces = depth === undefined ? inOrder : await this.#fromDepth(inOrder, depth)
    const { shown, read } = await this.#shownPage(this.#reader.forward(pieces), { limit, bytes: LIMITS.pageBytes })
    return { messages: shown, gaps: read.gaps.flat(), more: read.more }
  }

  #shownPage(items: AsyncIterable<Placed | Gap>, size: PageSize, onLost?: OnLost): Promise<ShownPage> {
    const newest = this.#state.replaced === 0 ? undefined : this.#replacements
    return shownPage(items, size, (messages) => newest?.shown(messages, onLost, size.bytes))
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
  async message(id: string): Promise<KeptMessage | undefined> {
    const located = await this.locate(id)
    return located === undefined ? undefined : this.#content(located)
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

  /** A page of the contents that a message has had. Undefined if there is no such message. */
  async revisions(id: string, options: RevisionOptions = {}): Promise<RevisionPage<JsonObject> | undefined> {
    const from = revisionPlace(id, options)
    const located = await this.locate(id)
    if (located === undefined) return undefined
    const lost: Lost[] = []
    const page = await revisionPage(id, this.#revisionsOf(located, lost, from), options)
    const [last] = page.revisions.slice(-1)
    if (last === undefined || last.erased === true) return page
    const damage = await this.#openDamage(lost, from === undefined ? this.#replacements.reach(originOf(located)) : [])
    return { ...page, revisions: [...page.revisions.slice(0, -1), withDamage(last, damage)] }
  }

  /** Every content that a message has had and that can be read, the last one first. */
  async *contents(id: string): AsyncGenerator<KeptMessage> {
    const located = await this.locate(id)
    if (located !== undefined) for await (const { stored } of this.#revisionsOf(located, [])) yield stored
  }

  #revisionsOf(located: Located, lost: Lost[], from?: RevisionPlace): AsyncGenerator<Revision> {
    const onLost: OnLost = (session, position) => lost.push({ session, position })
    return revisionsOf(this.#stored(located), this.#replacements.backward(located.id, located.place, onLost, from))
  }

  /** The newest content of a message, and the last record of this session that replaced it: what a replacement has to name. */
  async newest(id: string): Promise<Newest | undefined> {
    const located = await this.locate(id)
    if (located === undefined) return undefined
    const { message, erased = false, damage = [] } = await this.#content(located)
    return { located, message, prior: await this.#replacements.lastOwn(id), erased, damage }
  }

  /** The content of a message, with what may have changed it and cannot be read. An erasure is the last thing that happens to one. */
  async #content(located: Located): Promise<KeptMessage> {
    const stored = this.#stored(located)
    const lost: Lost[] = []
    const [shown = stored] = await this.#replacements.shown([{ ...located, stored }], (session, position) =>
      lost.push({ session, position }),
    )
    if (shown.erased === true || (lost.length === 0 && !this.#damage.mayLack)) return shown
    return withDamage(shown, await this.#openDamage(lost, await this.#replacements.reachOfNext(located.id, originOf(located))))
  }

  /** Replacements that cannot be read, and what was lost where others can be; nothing that was accepted. */
  async #openDamage(lost: readonly Lost[], reach: readonly Reach[]): Promise<DamagedPlace[]> {
    const known = lost.length === 0 ? [] : (await this.#damage.records(lost)).filter(({ accepted }) => accepted !== true)
    return withoutRepeated([...known, ...(await this.#damage.openLosses(reach))])
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
    const damaged = await this.whyUnknown(id)
    throw damaged ?? noMessage(id)
  }

  async #locatedAt(id: string, journal: string, entry: KeyEntry, place: number): Promise<Located> {
    const found = await this.#journals.records(journal).at(entry.at)
    if (found === undefined) {
      throw new HoldfastError('DAMAGED', `The message "${id}" was written, but its record cannot be read. Run \`holdfast doctor\`.`, {
        details: { message_id: id, position: entry.at },
      })
    }
    const { index } = entry
    const point = this.#reader.pointOf(found, index, place)
    const run = point.at === null ? PAST : (runOf(this.#state.runs, point.at)?.at ?? 0)
    return { id, journal, place, born: this.#state.born, found, index, depth: point.n, point, run }
  }

  /** Before the first position of some pieces, as far as it is in this session's own journal. */
  #lowest([first]: readonly Piece[], whole: boolean): number {
    if (whole || this.#state.held.length === 0) return -1
    if (first === undefined) return this.#state.head.at?.[0] ?? -1
    return first.journal === this.#session ? first.first - 1 : -1
  }

  async #cutAt(id: string | undefined, branch: readonly Stretch[]): Promise<Cut | undefined> {
    return id === undefined ? undefined : this.#onBranch(id, branch)
  }

  async #onBranch(id: string, branch: readonly Stretch[]): Promise<Cut> {
    const located = await this.locate(id)
    const damaged = located === undefined ? await this.whyUnknown(id) : undefined
    if (damaged !== undefined) throw damaged
    // One that was appended since is on no branch that this state knows.
    const newer = located !== undefined && located.run !== PAST && located.found.at >= Number.parseInt(this.#state.version, 10)
    if (located === undefined || newer || !isOn(branch, located.run, located.depth)) {
      throw new HoldfastError('NOT_FOUND', `There is no message "${id}" on the current branch of this session.`, {
        details: { reason: 'no message', message_id: id },
      })
    }
    const { journal, depth, found, point } = located
    return {
      depth,
      found,
      position: point.at?.[0] ?? -1,
      holds: (piece) => (piece as Piece).journal === journal && depth > piece.from && depth <= piece.to,
    }
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

  #stored({ found, index, run, depth }: Located): KeptMessage {
    return this.#reader.storedAt(found, index, run, depth)
  }
}

function originOf({ journal, place, found }: Located): Parameters<Replacements['reach']>[0] {
  return { journal, place, position: found.at }
}

function withDamage(message: KeptMessage, damage: readonly DamagedPlace[]): KeptMessage {
  return damage.length === 0 ? message : { ...message, damage }
}

/** The position of a message in this session's own journal; -1 if it is inherited. */
function positionOf({ point }: Placed): number {
  return point.at?.[0] ?? -1
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
