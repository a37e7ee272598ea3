/** Callers that wait for a replica: what each of them wants, what it comes to, and how they are answered. */
import type { Journal } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import type { KeyEntry, KeyHash } from '../record/key-hash.ts'
import type { Body, LinePlace } from '../record/line.ts'
import type { Decision, Known, Operation } from '../record/operation.ts'
import type { JsonObject, SealReason } from '../record/record.ts'
import type { PlacedGroup } from './placed-group.ts'

/** A caller that waits. `R` is whatever its operation answers. */
export interface PendingOperation<S> {
  readonly operation: Operation<S, unknown>
  readonly id: string
  body: Body | undefined
  /** What the body was made from. */
  payload: JsonObject | undefined
  /** What sealed segments know of its keys. */
  known: ReadonlyMap<KeyHash, KeyEntry>
  /** Up to which segment its keys were looked up. */
  knownBefore: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

export const NOTHING_KNOWN: ReadonlyMap<KeyHash, KeyEntry> = new Map()

/** What one waiting operation comes to, if the group stands. */
export interface Planned<S> {
  readonly waiting: PendingOperation<S>
  readonly decision: Decision<unknown>
  /** Of its record; undefined if it writes none. */
  readonly place: LinePlace | undefined
}

/** What one write holds. */
export interface Plan<S> extends PlacedGroup<S> {
  readonly planned: readonly Planned<S>[]
  readonly urgent: boolean
  /** Nothing can be planned before a segment was begun for this reason. */
  readonly opens: SealReason | undefined
}

/**
 * Rejects the operations; but readers stay pending if others could not write, because a full disk can be read. Returns those that stay pending.
 */
export function rejectWith<S>(error: unknown, waiting: readonly PendingOperation<S>[]): PendingOperation<S>[] {
  const readers = waiting.filter(({ operation }) => operation.readOnly === true)
  const kept = error instanceof HoldfastError && error.outcome === 'none' && readers.length < waiting.length ? readers : []
  for (const item of waiting) if (!kept.includes(item)) item.reject(error)
  return kept
}

/** A mistake inside one operation is reported to its caller and stops no other. */
export function decide<S>(item: PendingOperation<S>, state: S, known: Known): Decision<unknown> {
  try {
    return item.operation.decide(state, known)
  } catch (error) {
    return { refuse: error as Error }
  }
}

/** The first outcome of a call that was repeated. */
export function isDuplicate<S>({ waiting: { operation }, decision }: Planned<S>): boolean {
  return decision.write === undefined && !('refuse' in decision) && operation.readOnly !== true && operation.fleeting !== true
}

/** Whether a plan need not be durable when it is answered. */
export function isFleeting<S>({ planned }: Plan<S>): boolean {
  return planned.every(({ waiting: { operation } }) => operation.fleeting === true)
}

export function settle<S>({ waiting, decision, place }: Planned<S>): void {
  if ('refuse' in decision) waiting.reject(decision.refuse)
  else if (decision.write === undefined) waiting.resolve(decision.answer)
  else {
    const { at, end, crc } = place as LinePlace
    waiting.resolve(decision.answer({ id: waiting.id, at, end, crc }))
  }
}

/** Looks up the keys of some operations in the segments before `segment`, from a position on. */
export async function lookUp<S>(journal: Journal, asking: readonly PendingOperation<S>[], from: number, segment: number): Promise<void> {
  const keys = asking.flatMap(({ operation }) => operation.keys ?? [])
  const found = from < segment ? await journal.lookup(keys, from, segment) : []
  let i = 0
  for (const item of asking) {
    let known: Map<KeyHash, KeyEntry> | undefined
    for (const key of item.operation.keys ?? []) {
      const entry = found[i++]
      if (entry === undefined) continue
      known ??= new Map()
      known.set(key, entry)
    }
    item.known = known ?? NOTHING_KNOWN
    item.knownBefore = segment
  }
}

export function tooMany(waiting: number, limit: number): HoldfastError {
  return new HoldfastError('RESOURCE_EXHAUSTED', `${waiting} operations wait for this session. Wait for some of them first.`, {
    details: { limit },
  })
}
