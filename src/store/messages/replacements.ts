/**
 * What messages were replaced with. A message can be replaced in the session that it was appended to, and in every fork that inherited
 * it; what a parent replaces later, a fork does not see. So of a message that stands in one piece of the past, the replacements stand in
 * that piece's session, as far as it reached, in those of the pieces behind it, and in the session itself; the last one counts.
 */

import type { Found } from '../../journal/records.ts'
import { jsonBytes, PageBudget } from '../../record/json-bytes.ts'
import { hashKey } from '../../record/key-hash.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JournalRecord, JsonObject } from '../../record/record.ts'
import { type MessageErased, type MessageReplaced, tombstone } from '../../session/records.ts'
import type { Past, SessionState } from '../../session/state.ts'
import { staleCursor } from '../page-cursor.ts'
import type { Journals } from './journals.ts'
import type { KeptMessage } from './stored-message.ts'

/** Is called with the place of a replacement that cannot be read. */
export type OnLost = (session: string, position: number) => void

export interface Replacement {
  readonly record: JournalRecord
  readonly message: JsonObject
  readonly prior: number | null
  readonly erased: boolean
}

/** A record that replaced a message. */
export interface ReplacementPlace {
  readonly session: string
  readonly position: number
}

/** Where a message was appended. */
interface Origin {
  readonly journal: string
  readonly place: number
  readonly position: number
}

/** A stretch of a journal. */
export interface Reach {
  readonly session: string
  readonly after: number
  readonly before: number
  /** Of the past. */
  readonly piece?: Past
}

export interface OwnReplacements {
  readonly erased: boolean
  /** Erased because its time was over: what was made from it is still there. */
  readonly kept: boolean
  readonly records: readonly Found[]
}

export class Replacements {
  readonly #journals: Journals
  readonly #session: string
  readonly #state: SessionState

  constructor(journals: Journals, session: string, state: SessionState) {
    this.#journals = journals
    this.#session = session
    this.#state = state
  }

  /**
   * The messages with their newest content, or the first of them, if the others would be more than `bytes`. One whose newest content cannot be read
   * has the one before it, and `onLost` is called.
   */
  async shown(
    messages: readonly { readonly stored: KeptMessage; readonly place: number }[],
    onLost?: OnLost,
    bytes: number = LIMITS.pageBytes,
  ): Promise<KeptMessage[]> {
    const shown = messages.map(({ stored }) => stored)
    if (this.#state.replaced === 0) return shown
    const budget = new PageBudget(bytes)
    const lost: { readonly index: number; readonly session: string; readonly position: number }[] = []
    let open = messages.map(({ stored, place }, index) => ({ index, place, key: hashKey('replacement', stored.id) }))
    const look = async (session: string, end: number, place: number, find: Find): Promise<void> => {
      const asked = open.filter((item) => item.place <= place)
      const entries = asked.length === 0 ? [] : await find(asked.map(({ key }) => key))
      for (const [i, { index }] of asked.entries()) {
        const entry = entries[i]
        if (entry === undefined || index >= shown.length) continue
        const replacement = await this.#at(session, entry.at, end, (of, position) => lost.push({ index, session: of, position }))
        if (replacement === undefined) continue
        const { message, erased } = replacement
        if (!budget.add(jsonBytes(message)) && index > 0) {
          shown.length = index
          break
        }
        shown[index] = { ...(shown[index] as KeptMessage), replaced: true, message, ...(erased ? { erased } : {}) }
        open = open.filter((item) => item.index !== index)
      }
      open = open.filter(({ index }) => index < shown.length)
    }
    await look(this.#session, Number.POSITIVE_INFINITY, this.#state.past.length, (keys) => this.#journals.find(keys))
    for (const { piece, place } of this.#sessions().reverse()) {
      await look(piece.session, piece.end, place, (keys) => this.#journals.findInPiece(piece, keys))
    }
    for (const { index, session, position } of lost) if (index < shown.length) onLost?.(session, position)
    return shown
  }

  /**
   * Every replacement of a message, the last one first, or those from a record on. Those before one that cannot be read are missing in its session, and
   * `onLost` is called.
   */
  async *backward(
    id: string,
    place: number,
    onLost: OnLost,
    from?: ReplacementPlace | 'first',
  ): AsyncGenerator<Replacement & ReplacementPlace> {
    if (this.#state.replaced === 0 || from === 'first') return
    const keys = [hashKey('replacement', id)]
    const own = { session: this.#session, end: Number.POSITIVE_INFINITY, find: () => this.#journals.find(keys) }
    const past = this.#sessions().flatMap(({ piece, place: at }) =>
      at < place ? [] : [{ session: piece.session, end: piece.end, find: () => this.#journals.findInPiece(piece, keys) }],
    )
    let waiting = from
    for (const { session, end, find } of [...past, own].reverse()) {
      if (waiting !== undefined && waiting.session !== session) continue
      const begin = waiting?.position ?? (await find())[0]?.at
      waiting = undefined
      for (let at = begin ?? null; at !== null; ) {
        const replacement = await this.#at(session, at, end, onLost)
        // A cursor may name any record.
        if (replacement !== undefined && (replacement.record as unknown as MessageReplaced).target !== id) throw staleCursor()
        if (replacement === undefined) break
        yield { ...replacement, session, position: at }
        at = replacement.prior
      }
    }
  }

  /** Where a message can have been replaced: in which journals, after which position and before which. The last one is this session's own. */
  reach({ journal, place, position }: Origin): Reach[] {
    const after = (session: string, born: number): number => (session === journal ? position : born - 1)
    const past = this.#sessions().filter((one) => one.place >= place)
    return [
      ...past.map(({ piece }) => ({ session: piece.session, after: after(piece.session, piece.born), before: piece.end, piece })),
      { session: this.#session, after: after(this.#session, this.#state.born), before: Number.POSITIVE_INFINITY },
    ]
  }

  /** The same after the last replacement that is known. */
  async reachOfNext(id: string, origin: Origin): Promise<Reach[]> {
    const all = this.reach(origin)
    const keys = [hashKey('replacement', id)]
    for (const [i, one] of [...all.entries()].reverse()) {
      const [entry] = one.piece === undefined ? await this.#journals.find(keys) : await this.#journals.findInPiece(one.piece, keys)
      if (entry !== undefined && entry.at < one.before) return [{ ...one, after: entry.at }, ...all.slice(i + 1)]
    }
    return all
  }

  /** What this session itself has replaced a message with, the last one first; nothing behind an erasure. */
  async own(id: string): Promise<OwnReplacements> {
    const records: Found[] = []
    for (let at = await this.lastOwn(id); at !== null; ) {
      const found = await this.#journals.records(this.#session).eitherCopyAt(at, 'message.erased')
      if (found?.record.type === 'message.erased') return { erased: true, kept: found.record.keeps === true, records }
      if (found === undefined) break
      records.push(found)
      at = (found.record as unknown as MessageReplaced).prior
    }
    return { erased: false, kept: false, records }
  }

  /** Position of the last record of this session that replaced a message, whether or not it can be read. */
  async lastOwn(id: string): Promise<number | null> {
    const [own] = await this.#journals.find([hashKey('replacement', id)])
    return own?.at ?? null
  }

  /** The sessions of the past, each with the last of its pieces. */
  #sessions(): { readonly piece: Past; readonly place: number }[] {
    return this.#state.past
      .map((piece, place) => ({ piece, place }))
      .filter(({ piece, place }) => {
        const next = this.#state.past[place + 1]
        return next?.session !== piece.session || next.born !== piece.born
      })
  }

  /** The last replacement in front of `end`, going back from one. */
  async #at(session: string, position: number, end: number, onLost?: OnLost): Promise<Replacement | undefined> {
    for (let at: number | null = position; at !== null; ) {
      const found = await this.#journals.records(session).eitherCopyAt(at, 'message.erased')
      if (found === undefined) {
        onLost?.(session, at)
        return undefined
      }
      const { record } = found
      // Also what was erased later than a fork was made: nobody keeps it.
      if (record.type === 'message.erased')
        return { record, message: tombstone((record as unknown as MessageErased).role), prior: null, erased: true }
      if (record.type !== 'message.replaced') return undefined
      const { message, prior } = record as unknown as MessageReplaced
      if (at < end) return { record, message: message as JsonObject, prior, erased: false }
      at = prior
    }
    return undefined
  }
}

type Find = (keys: readonly string[]) => Promise<readonly ({ readonly at: number } | undefined)[]>
