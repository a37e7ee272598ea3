/**
 * What was found between two states that are known: from one checkpoint, or the beginning, to the next. A spoiled line alone does not tell
 * whether anything was lost. Three witnesses do:
 *
 *   the chain          the next record names the crc of the one before it, as its writer had read it: if that is the last one that is
 *                      there, the writer had seen nothing in the spoiled stretch
 *   the carried lines  after a failed sync the next segment repeats them, so what is spoiled from there on is not lost
 *   the checkpoint     if it tells what the records that are left come to, whoever made it had seen no more than they
 */
import { isDeepStrictEqual } from 'node:util'
import type { DamageKind } from '../record/line.ts'
import type { SessionState } from '../session/state.ts'
import type { FindingKind, Problem } from './findings.ts'

/** Something that is not as it was written. Positions are those of the journal. */
interface Spoiled {
  readonly segment: number
  readonly at: number
  readonly length: number
  /** `missing`: the segment ends here, before its successor begins. */
  readonly as: DamageKind | 'missing'
  /** Whether the next record knew of one that is not there; undefined while there was none. */
  broken: boolean | undefined
}

/** The checkpoint at the end of a stretch. */
export interface Witness {
  readonly segment: number
  readonly at: number
  readonly length: number
  readonly prev: string
  readonly state: SessionState
  /** The lowest position whose line stands behind it; undefined if none does, or if some of them are missing. */
  readonly carriedFrom: number | undefined
}

export class Stretch {
  /** What the records come to, as far as they can be read; undefined if nothing tells what they stand on. */
  state: SessionState | undefined
  /** What the next record must name as the one before it; undefined if that cannot be told. */
  prev: string | undefined
  #spoiled: Spoiled[] = []
  /** A record is gone and nothing shows where it stood. */
  #gap = false

  constructor(state: SessionState | undefined, prev: string | undefined) {
    this.state = state
    this.prev = prev
  }

  /** The stretch behind a checkpoint, with what was spoiled in front of it in the same segment. */
  next({ segment, state }: Witness, crc: string): Stretch {
    const next = new Stretch(state, crc)
    next.#spoiled = this.#spoiled.filter((spoiled) => spoiled.segment === segment)
    this.#spoiled = this.#spoiled.filter((spoiled) => spoiled.segment !== segment)
    return next
  }

  spoil(spoiled: Omit<Spoiled, 'broken'>): void {
    this.#spoiled.push({ ...spoiled, broken: undefined })
  }

  /** Takes in a record that names the one before it. False if that one is gone and nothing spoiled stands in its place. */
  follow(prev: string, crc: string, hasTwoCopies: boolean): boolean {
    const fits = this.prev === undefined || prev === this.prev
    const open = this.#spoiled.filter(({ broken }) => broken === undefined)
    for (const spoiled of open) spoiled.broken = !fits
    // If this is the second copy and the first one is spoiled, the next record names the crc of the first.
    this.prev = open.length > 0 && hasTwoCopies ? undefined : crc
    if (fits || open.length > 0) return true
    this.#gap = true
    return false
  }

  /** What is to be told of this stretch, given the checkpoint behind it, if there is one. */
  *settle(witness?: Witness): Generator<Problem> {
    const agrees = witness === undefined || this.state === undefined ? undefined : isDeepStrictEqual(this.state, witness.state)
    const breaks = witness !== undefined && this.prev !== undefined && this.prev !== witness.prev
    for (const spoiled of this.#spoiled) {
      const { segment, at, length } = spoiled
      const kind = kindOf({ ...spoiled, broken: spoiled.broken ?? breaks }, agrees, witness?.carriedFrom)
      yield { kind, place: { segment, offset: at - segment, length } }
    }
    if (witness === undefined || this.#spoiled.length > 0 || this.#gap) return
    const place = { segment: witness.segment, offset: witness.at - witness.segment, length: witness.length }
    if (agrees === false && !breaks) yield { kind: 'wrong-checkpoint', place }
    if (agrees !== true && breaks) yield { kind: 'missing-record', place, detail: 'The last record before this checkpoint is not there.' }
  }
}

function kindOf({ at, as, broken }: Spoiled, agrees: boolean | undefined, carriedFrom: number | undefined): FindingKind {
  if (as !== 'rotten' && carriedFrom !== undefined && carriedFrom <= at) return 'carried'
  if (as === 'missing') return agrees === true ? 'unwritten' : 'cut-short'
  if (as === 'zeros') return broken === true && agrees !== true ? 'lost-page' : 'unwritten'
  // A line whose newline rotted ends with the next lead-in, and looks like one that was torn.
  return as === 'torn' && (broken !== true || agrees === true) ? 'torn' : 'rotten'
}
