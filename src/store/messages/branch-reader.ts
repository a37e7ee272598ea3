/**
 * Reads the messages of some stretches from the journals that hold them, in either direction. Where a message is missing, the gap comes in
 * its place.
 */

import type { Found } from '../../journal/records.ts'
import type { JsonObject } from '../../record/record.ts'
import { isOn, PAST } from '../../session/branch.ts'
import { pastUpTo } from '../../session/lineage.ts'
import { type MessagesAppended, messageId } from '../../session/records.ts'
import type { Point, SessionState, Stretch } from '../../session/state.ts'
import { DepthGaps, type Gap, type Piece } from './depth-gaps.ts'
import type { Journals } from './journals.ts'
import type { LoadedMessages } from './loaded-messages.ts'
import type { KeptMessage } from './stored-message.ts'

/** A message with where it stands, and the piece that it comes from. */
export interface Placed {
  readonly stored: KeptMessage
  readonly point: Point
  readonly place: number
}

export class BranchReader {
  readonly #session: string
  readonly #state: SessionState
  readonly #journals: Journals
  readonly #loaded: LoadedMessages | undefined

  /** `loaded`: what was read of this session's own journal just now. */
  constructor(journals: Journals, session: string, state: SessionState, loaded?: LoadedMessages) {
    this.#journals = journals
    this.#session = session
    this.#state = state
    this.#loaded = loaded
  }

  async *forward(pieces: readonly Piece[]): AsyncGenerator<Placed | Gap> {
    for await (const several of this.records(pieces)) {
      if (isGap(several)) yield several
      else yield* several
    }
  }

  async *records(pieces: readonly Piece[]): AsyncGenerator<Placed[] | Gap> {
    for (const piece of pieces) {
      const { journal, first, last } = piece
      const gaps = new DepthGaps(piece)
      const loaded = journal === this.#session ? this.#loaded?.between(first, last) : undefined
      const found = (await this.#mayRead(journal)) ? (loaded ?? this.#journals.records(journal).forward(first, last)) : []
      for await (const one of found) {
        if (one.record.type !== 'messages.appended') continue
        const gap = gaps.forward(one)
        if (gap !== undefined) yield gap
        yield this.#messagesIn(one, piece)
      }
      const rest = gaps.endForward()
      if (rest !== undefined) yield rest
    }
  }

  async *backward(pieces: readonly Piece[]): AsyncGenerator<Placed | Gap> {
    for (const piece of pieces.toReversed()) {
      const { journal, first, last } = piece
      const gaps = new DepthGaps(piece)
      const records = (await this.#mayRead(journal))
        ? this.#journals.records(journal).severalBackward(first, last, 'messages.appended')
        : []
      for await (const several of records) {
        for (const found of several) {
          if (found.record.type !== 'messages.appended') continue
          const gap = gaps.backward(found)
          if (gap !== undefined) yield gap
          yield* this.#messagesIn(found, piece).reverse()
        }
      }
      const rest = gaps.endBackward()
      if (rest !== undefined) yield rest
    }
  }

  /** What stands in the journal of a parent counts only if that file is the parent's. */
  async #mayRead(journal: string): Promise<boolean> {
    return journal === this.#session || !(await this.#journals.condition(journal)).foreign
  }

  /** A stretch as it lies in journals: of the past, in those of several sessions. */
  pieces(stretch: Stretch): Piece[] {
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
      return [{ stored: this.storedAt(found, index, as, depth), point: this.pointOf(found, index, place), place }]
    })
  }

  pointOf(found: Found, index: number, place: number): Point {
    const { messages, n, t, tokens } = appendedIn(found)
    const inherited = place < this.#state.past.length
    return { at: inherited ? null : [found.at, index], n: n + index + 1, t: t + Math.round((tokens * (index + 1)) / messages.length) }
  }

  storedAt(found: Found, index: number, run: number, depth: number): KeptMessage {
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

export function isPlaced(item: Placed | Gap): item is Placed {
  return 'stored' in item
}

export function isGap(item: readonly Placed[] | Gap): item is Gap {
  return !Array.isArray(item)
}

export function appendedIn({ record }: Found): MessagesAppended {
  return record as unknown as MessagesAppended
}
