/**
 * What the check of one session needs to know of others: what they say of themselves, and which of their messages can be read. Forks of one session
 * ask the same again and again, so the answers are kept, within a limit. An answer that would be a finding is looked up again first: a store may be
 * in use.
 */
import type { Engine } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { ownJournal } from '../journal/own-journal.ts'
import { Records } from '../journal/records.ts'
import type { MessagesAppended } from '../session/records.ts'
import type { AcceptedGap, Past, SessionState } from '../session/state.ts'
import { loadedTail } from './loaded-tail.ts'

/** What another session says of itself. */
export interface Relative {
  readonly status: SessionState['status']
  /** The session that it comes from. */
  readonly parent: string | null
  /** The forks that it has granted. */
  readonly forks: ReadonlySet<string>
  readonly accepted: readonly AcceptedGap[]
}

/** Messages of one run that were all read, up to some depth: where each record is, and the depth of its last message. */
interface ReadRun {
  readonly ats: number[]
  readonly ends: number[]
}

/** What is kept: forks and records, each of which takes some tens of bytes. */
const MOST_KEPT = 300_000

export class Relatives {
  readonly #engine: Engine
  readonly #said = new Kept<Relative | undefined>((said) => said?.forks.size ?? 0)
  readonly #runs = new Kept<ReadRun>((run) => run.ats.length)

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Another session; undefined if it cannot be read, which is reported for that session. `holds`: what it says would be no finding. */
  async of(space: string, id: string, holds: (said: Relative | undefined) => boolean): Promise<Relative | undefined> {
    const key = `${space}\0${id}`
    const known = this.#said.get(key)
    if (known !== undefined && holds(known.value)) return known.value
    const said = await this.#ask(space, id)
    this.#said.set(key, said)
    return said
  }

  /** How many messages of a piece of the past cannot be read, and why. */
  async missing(space: string, piece: Past): Promise<{ readonly count: number; readonly why: string }> {
    const records = new Records(ownJournal(this.#engine, this.#engine.name(space, piece.session)))
    const key = runKey(space, piece)
    const run: ReadRun = this.#runs.get(key)?.value ?? { ats: [], ends: [] }
    try {
      await extend(run, records, piece)
      this.#runs.set(key, run)
      if (reaches(run, piece)) return { count: 0, why: '' }
    } catch (error) {
      reasonOf(error)
    }
    return countMissing(records, piece)
  }

  /** Whether all messages of a piece are known to be readable. */
  isRead(space: string, piece: Past): boolean {
    const run = this.#runs.get(runKey(space, piece))?.value
    return run !== undefined && reaches(run, piece)
  }

  async #ask(space: string, id: string): Promise<Relative | undefined> {
    try {
      const { state, loss } = await loadedTail({ engine: this.#engine }, this.#engine.name(space, id))
      if (loss !== undefined) return undefined
      const forks = new Set(state.grants.flatMap(({ session, kind }) => (kind === 'fork' ? [session] : [])))
      return { status: state.status, parent: state.parent?.session ?? null, forks, accepted: state.accepted }
    } catch (error) {
      if (error instanceof HoldfastError && ['DAMAGED', 'UNREADABLE', 'UNSUPPORTED_VERSION'].includes(error.code)) return undefined
      throw error
    }
  }
}

function runKey(space: string, { session, born, first, from }: Past): string {
  return `${space}\0${session}\0${born} ${first} ${from}`
}

/** Reads on, as far as the piece goes and nothing is missing. */
async function extend(run: ReadRun, records: Records, { from, to, first, last }: Past): Promise<void> {
  const { ats, ends } = run
  let [at, depth] = [ats.at(-1) ?? first - 1, ends.at(-1) ?? from]
  if (depth >= to) return
  for await (const found of records.forward(at + 1, last)) {
    if (found.record.type !== 'messages.appended') continue
    const { messages, n } = found.record as unknown as MessagesAppended
    if (n > depth) return
    if (n + messages.length <= depth) continue
    at = found.at
    depth = n + messages.length
    ats.push(at)
    ends.push(depth)
  }
}

function reaches({ ats, ends }: ReadRun, { to, last }: Past): boolean {
  let [low, high] = [0, ends.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ends[middle] as number) >= to) high = middle
    else low = middle + 1
  }
  return low < ends.length && (ats[low] as number) <= last
}

/** Along a run depths only grow, so each message is counted once. */
async function countMissing(records: Records, piece: Past): Promise<{ count: number; why: string }> {
  let depth = piece.from
  let found = 0
  let why = ''
  try {
    for await (const { record } of records.forward(piece.first, piece.last)) {
      if (record.type !== 'messages.appended') continue
      const { messages, n } = record as unknown as MessagesAppended
      const [from, to] = [Math.max(depth, n), Math.min(piece.to, n + messages.length)]
      found += Math.max(to - from, 0)
      depth = Math.max(depth, to)
    }
  } catch (error) {
    why = ` ${reasonOf(error)}`
  }
  return { count: piece.to - piece.from - found, why }
}

/** Why something cannot be read. Any other error ends the check. */
function reasonOf(error: unknown): string {
  if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
  return error.message
}

/** Values by key, those that were used last, up to a weight. */
class Kept<T> {
  readonly #weigh: (value: T) => number
  readonly #values = new Map<string, { readonly value: T; readonly weight: number }>()
  #weight = 0

  constructor(weigh: (value: T) => number) {
    this.#weigh = weigh
  }

  get(key: string): { readonly value: T } | undefined {
    const kept = this.#values.get(key)
    if (kept === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, kept)
    return kept
  }

  set(key: string, value: T): void {
    this.#remove(key)
    const weight = 1 + this.#weigh(value)
    this.#values.set(key, { value, weight })
    this.#weight += weight
    for (const oldest of this.#values.keys()) {
      if (this.#weight <= MOST_KEPT) return
      this.#remove(oldest)
    }
  }

  #remove(key: string): void {
    this.#weight -= this.#values.get(key)?.weight ?? 0
    this.#values.delete(key)
  }
}
