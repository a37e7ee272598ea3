/** Cutting the stretches of a branch at one message: what is before it, or what is after it. */
import type { Found } from '../../journal/records.ts'
import type { Stretch } from '../../session/state.ts'
import type { Piece } from './depth-gaps.ts'

export interface Cut {
  readonly depth: number
  readonly found: Found
  /** In this session's own journal; -1 if it is inherited. */
  readonly position: number
  /** Whether a piece is the one that holds the message at which to cut. */
  readonly holds: (piece: Stretch) => boolean
}

/** On one branch, a depth names one message. The positions spare reading what lies on the other side of it. */
export function cutBefore(pieces: readonly Piece[], { depth, found, holds }: Cut): Piece[] {
  return pieces
    .map((piece) => ({
      ...piece,
      to: Math.min(piece.to, depth - 1),
      last: holds(piece) ? Math.min(piece.last, found.at) : piece.last,
      noticed: piece.noticed?.filter(({ position }) => !holds(piece) || position < found.at),
    }))
    .filter(({ from, to }) => from < to)
}

export function cutAfter<T extends Stretch>(stretches: readonly T[], { depth, found, holds }: Cut): T[] {
  return stretches
    .map((stretch) => ({
      ...stretch,
      from: Math.max(stretch.from, depth),
      first: holds(stretch) ? Math.max(stretch.first, found.at) : stretch.first,
    }))
    .filter(({ from, to }) => from < to)
}
