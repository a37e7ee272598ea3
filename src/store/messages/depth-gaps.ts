/**
 * Which messages of a stretch are missing. A stretch says which depths it has, and each record says at which depth its messages begin. A
 * depth that no record has was lost with its record, so the number of lost messages is exact.
 */

import type { Found } from '../../journal/records.ts'
import type { NoticedGap } from '../../record/damage.ts'
import type { MessagesAppended } from '../../session/records.ts'
import type { Stretch } from '../../session/state.ts'

/** A stretch as it lies in one journal. */
export interface Piece extends Stretch {
  readonly journal: string
  /** Which piece of the past it is. The session's own pieces come after all of them. */
  readonly place: number
  /** The run that it counts as in this session. */
  readonly as: number
  /** Of a piece of the past: what was noticed as lost in it. */
  readonly noticed?: readonly NoticedGap[] | undefined
}

/** Messages that cannot be read: those of depth `from` + 1 to `to`, or what was noticed as lost, which has no depth. */
export interface Gap {
  readonly piece: Piece
  readonly from: number
  readonly to: number
  readonly noticed?: NoticedGap
  /** The records with messages around it; undefined at the border of the piece. */
  readonly before: Found | undefined
  readonly next: Found | undefined
}

/** Is given the records of one piece, in either direction, and returns the gaps between them. */
export class DepthGaps {
  readonly #piece: Piece
  /** The depths that were not met yet: `#from` + 1 to `#to`. */
  #from: number
  #to: number
  #last: Found | undefined

  constructor(piece: Piece) {
    this.#piece = piece
    this.#from = piece.from
    this.#to = piece.to
  }

  /** The gap before a record, when records are read oldest first. */
  forward(found: Found): Gap | undefined {
    const { n, messages } = found.record as unknown as MessagesAppended
    const to = Math.min(n, this.#to)
    const noticed = (): Gap | undefined => this.#noticed(this.#from, this.#last?.at ?? this.#piece.first, found.at)
    const gap = to > this.#from ? this.#gap(this.#from, to, this.#last, found) : noticed()
    this.#from = Math.max(this.#from, Math.min(n + messages.length, this.#to))
    this.#last = found
    return gap
  }

  /** The gap after a record, when records are read newest first. */
  backward(found: Found): Gap | undefined {
    const { n, messages } = found.record as unknown as MessagesAppended
    const from = Math.max(n + messages.length, this.#from)
    const noticed = (): Gap | undefined => this.#noticed(from, found.at, this.#last?.at ?? Number.POSITIVE_INFINITY)
    const gap = from < this.#to ? this.#gap(from, this.#to, found, this.#last) : noticed()
    this.#to = Math.min(this.#to, Math.max(n, this.#from))
    this.#last = found
    return gap
  }

  /** What is still missing when all records were read. */
  endForward(): Gap | undefined {
    if (this.#from < this.#to) return this.#gap(this.#from, this.#to, this.#last, undefined)
    return this.#last === undefined ? undefined : this.#noticed(this.#from, this.#last.at, Number.POSITIVE_INFINITY)
  }

  endBackward(): Gap | undefined {
    if (this.#from < this.#to) return this.#gap(this.#from, this.#to, undefined, this.#last)
    return this.#last === undefined ? undefined : this.#noticed(this.#from, this.#piece.first, this.#last.at)
  }

  /** What was noticed as lost between two positions, after the message of a depth. */
  #noticed(depth: number, from: number, to: number): Gap | undefined {
    const noticed = this.#piece.noticed?.find(({ position }) => position >= from && position < to)
    return noticed === undefined ? undefined : { ...this.#gap(depth, depth, undefined, undefined), noticed }
  }

  #gap(from: number, to: number, before: Found | undefined, next: Found | undefined): Gap {
    return { piece: this.#piece, from, to, before, next }
  }
}
