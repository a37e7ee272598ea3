/**
 * What was found between two states that are known: from one checkpoint, or the beginning, to the next. A spoiled line alone does not tell
 * whether anything was lost. Three witnesses do:
 *
 *   the chain          the next record names the crc of the one before it, as its writer had read it: if that is the last one that is
 *                      there, the writer had seen nothing in the spoiled interval
 *   the carried lines  after a failed sync the next segment repeats them, so what is spoiled from there on is not lost
 *   the checkpoint     if it tells what the records that are left come to, whoever made it had seen no more than they
 *
 * The chain also shows that a spoiled line is one of the two copies of a record whose other copy can be read: then nothing is lost.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Extent, firstCopy, secondCopy } from '../record/copies.ts'
import type { DamageKind } from '../record/line.ts'
import type { SessionState } from '../session/state.ts'
import type { FindingKind, Problem } from './findings.ts'

/** Something that is not as it was written. Positions are those of the journal. */
export interface Spoiled {
  readonly segment: number
  readonly at: number
  readonly length: number
  /** `missing`: the segment ends here, before its successor begins. */
  readonly as: DamageKind | 'missing'
  /** It looks like a piece of a line. Readers report it unless a later record shows that nothing is missing here. */
  readonly piece: boolean
  /** It never was a record of this place, by what it says of itself, as far as that can be read, or by what it stands among. */
  elsewhere: boolean
  /** What the record must have named that stood here, if one did; undefined if that cannot be told. */
  readonly prev: string | undefined
  /** Whether the next record knew of one that is not there; undefined while there was none. */
  broken: boolean | undefined
  /** It is one copy of a record whose other copy can be read. */
  copy: boolean
}

/** The checkpoint at the end of an interval. */
export interface Witness {
  readonly segment: number
  readonly at: number
  readonly length: number
  readonly prev: string
  /** Undefined if it is encrypted. */
  readonly state: SessionState | undefined
}

/** Lines that stand again at the beginning of a segment: from which position on all of them, and those that are lost at their own place. */
export interface Carried {
  readonly from: number
  readonly lost: readonly { readonly at: number; readonly prev: string }[]
}

export class Interval {
  /** What the records come to, as far as they can be read; undefined if nothing tells what they stand on. */
  state: SessionState | undefined
  /** What the next record must name as the one before it; undefined if that cannot be told. */
  prev: string | undefined
  #spoiled: Spoiled[] = []
  /** A record is gone and nothing shows where it stood. */
  #gap = false
  /** What was taken for the first copy of the last record. */
  #first: readonly Spoiled[] = []
  /** Where the second copy of the last record must stand, and the crc of the record. */
  #second: (Extent & { readonly crc: string }) | undefined

  constructor(state: SessionState | undefined, prev: string | undefined) {
    this.state = state
    this.prev = prev
  }

  /**
   * The interval after a checkpoint, with what was spoiled before it in the same segment. `complete`: no line that it carries is
   * missing, so what is spoiled is none of them, but pieces of others or copies of it, and nobody misses those.
   */
  next({ segment, state }: Witness, crc: string, complete: boolean): Interval {
    const next = new Interval(state, crc)
    const own = this.#spoiled.filter((one) => one.segment === segment)
    this.#spoiled = this.#spoiled.filter((one) => one.segment !== segment)
    for (const one of own)
      next.#spoiled.push({ ...one, ...(complete ? { elsewhere: true, prev: crc, broken: false } : { prev: undefined }) })
    // Another checkpoint may have stood there, and the first record may name that one.
    if (own.some(({ as }) => as !== 'torn')) next.prev = undefined
    return next
  }

  spoil(spoiled: Pick<Spoiled, 'segment' | 'at' | 'length' | 'as'>, { elsewhere = false, piece = false } = {}): void {
    const { at, length } = spoiled
    const copy = this.#second !== undefined && at >= this.#second.at && at + length <= this.#second.end
    this.#spoiled.push({ ...spoiled, piece, elsewhere, prev: this.prev, broken: undefined, copy })
  }

  /**
   * Takes in a record that names the one before it. `twice`: the line of a record that was written twice. False if the record before is
   * missing and nothing spoiled takes its place.
   */
  follow(prev: string, crc: string, twice?: Extent): boolean {
    const fits = this.prev === undefined || prev === this.prev
    const open = this.#close(!fits)
    const unexplained = open.filter(({ copy }) => !copy)
    const first = twice === undefined ? [] : spoiledIn(unexplained, firstCopy(twice), twice.at)
    // If a record is missing and nothing else is spoiled, this is that record.
    this.#first = fits || first.length < unexplained.length ? first : []
    for (const spoiled of this.#first) spoiled.copy = true
    this.#second = twice === undefined ? undefined : { ...secondCopy(twice), crc }
    // If this is the second copy and the first one is spoiled, the next record names the crc of the first.
    this.prev = open.length > 0 && twice !== undefined ? undefined : crc
    if (fits || open.length > 0) return true
    this.#gap = true
    return false
  }

  /** The second copy of a record that was taken in. If it is the last one, nothing that was spoiled before that is a copy of it. */
  repeat(at: number): void {
    if (at !== this.#second?.at) return
    for (const spoiled of this.#first) spoiled.copy = false
    this.prev ??= this.#second.crc
    this.#second = undefined
  }

  /**
   * The problems of this interval, judged by the checkpoint after it, if there is one. `neverMade`: the last segment, if it was named and never made. Then
   * nothing that was acknowledged needs it, and the seal before it did not reach the disk either.
   */
  *settle(witness?: Witness, neverMade?: number): Generator<Problem & { readonly spoiled?: Spoiled }> {
    const agrees = witness?.state === undefined || this.state === undefined ? undefined : isSame(this.state, witness.state)
    const breaks = witness !== undefined && this.prev !== undefined && this.prev !== witness.prev
    const last = witness === undefined ? this.#spoiled.filter(({ piece, broken }) => piece && broken === undefined) : []
    // A checkpoint that was made after a loss knows nothing of it, but a record that was written before the loss does.
    const undecided = this.#close(breaks)
    for (const spoiled of this.#spoiled) {
      const { segment, at, length } = spoiled
      yield {
        kind: last.includes(spoiled)
          ? 'rotten'
          : kindOf(spoiled, at + length === neverMade || (agrees === true && undecided.includes(spoiled))),
        place: { segment, offset: at - segment, length },
        spoiled,
      }
    }
    if (witness === undefined || this.#spoiled.length > 0 || this.#gap) return
    const place = { segment: witness.segment, offset: witness.at - witness.segment, length: witness.length }
    const wrong =
      this.state !== undefined && witness.state !== undefined && !isDeepStrictEqual(asRemembered(this.state, witness.state), witness.state)
    if (wrong && !breaks) yield { kind: 'wrong-checkpoint', place }
    if (agrees !== true && breaks) yield { kind: 'missing-record', place, detail: 'The last record before this checkpoint is not there.' }
  }

  /** The gap ends here. Where several things are spoiled in it, a line that looks torn is the last to be blamed. Returns what is spoiled in it. */
  #close(broken: boolean): readonly Spoiled[] {
    const open = this.#spoiled.filter((spoiled) => spoiled.broken === undefined)
    const blamed = open.filter(({ as }) => as !== 'torn')
    const copies = open.filter(({ copy }) => copy)
    // If a writer dies between the two copies, the next record takes the place of the second: then the chain breaks, or its length differs.
    const areCopies = !broken && copies[0]?.at === this.#second?.at && endOf(copies.at(-1)) === this.#second?.end
    for (const spoiled of open) {
      spoiled.broken = broken && (blamed.length === 0 || blamed.includes(spoiled))
      spoiled.copy &&= areCopies
      // Where writers got into one another's lines, and nobody misses any, what stands beside a torn one is a piece too.
      spoiled.elsewhere ||= !broken && blamed.length < open.length
    }
    return open
  }
}

/** The spoiled lines from the first byte of a line to the next line; none if that first byte is not spoiled. */
function spoiledIn(spoiled: readonly Spoiled[], line: Extent | undefined, next: number): readonly Spoiled[] {
  const inside = line === undefined ? [] : spoiled.filter(({ at }) => at >= line.at && at < next)
  return inside[0]?.at === line?.at ? inside : []
}

function endOf(spoiled: Spoiled | undefined): number | undefined {
  return spoiled === undefined ? undefined : spoiled.at + spoiled.length
}

/** That a session is purged is said by a seal, whose loss alone costs nothing. The state after a purge no longer has what the session held. */
function isSame(state: SessionState, other: SessionState): boolean {
  return other.purged ? state.version === other.version : isDeepStrictEqual(asRemembered(state, other), other)
}

/**
 * Checkpoints of older software do not have what was accepted, and let `updatedAt` go back with the clock. That is not damage. And what was
 * noticed as lost just before a checkpoint only the checkpoint says.
 */
function asRemembered(state: SessionState, { noticed, accepted, updatedAt }: SessionState): SessionState {
  const known = { ...state, noticed, updatedAt: updatedAt < state.updatedAt ? updatedAt : state.updatedAt }
  return accepted.length === 0 ? { ...known, accepted } : known
}

/** Whether what stood here stands again elsewhere. A spoiled interval may begin before the first line that was lost in it. */
export function isCarried({ at, length, as, prev }: Spoiled, carried: Carried): boolean {
  if (as === 'rotten') return false
  return carried.from <= at || carried.lost.some((line) => line.at < at + length && line.prev === prev)
}

/** `agrees`: the next checkpoint knows of nothing that is not there. */
function kindOf({ as, elsewhere, prev, broken, copy }: Spoiled, agrees: boolean): FindingKind {
  if (copy && as !== 'torn') return 'lost-copy'
  if (as === 'missing') return agrees ? 'unwritten' : 'cut-short'
  if (as === 'zeros') return broken && !agrees ? 'lost-page' : 'unwritten'
  // A line whose newline rotted ends with the next lead-in, and looks like one that was torn.
  return (as === 'torn' || (elsewhere && prev !== undefined)) && (!broken || agrees) ? 'torn' : 'rotten'
}
