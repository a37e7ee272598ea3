/** What a newly started process finds: the records of every session, what it shows, and what the doctor says. */
import { doctor } from '../../../src/doctor/doctor.ts'
import { HoldfastError } from '../../../src/errors.ts'
import { history } from '../../../src/journal/history.ts'
import type { Counted } from '../../../src/record/fold.ts'
import { Handle } from '../../../src/store/handle.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Finding } from '../../../src/verify/findings.ts'
import type { Archives } from './model.ts'
import { type View, viewOf } from './wish.ts'

export interface SessionFound {
  /** By position, seals apart. */
  readonly counted: readonly Counted[]
  /** The first position that is still there. */
  readonly kept: number
  /** Undefined if it is not there, or deleted. */
  readonly shown: { readonly version: string; readonly view: View; readonly archives: Archives } | undefined
}

export interface StoreFound {
  readonly sessions: ReadonlyMap<string, SessionFound>
  readonly findings: readonly Finding[]
}

export async function lookAt(store: Store, ids: readonly string[]): Promise<StoreFound> {
  const sessions = new Map<string, SessionFound>()
  for (const id of ids) sessions.set(id, { ...(await recordsOf(store, id)), shown: await shownBy(store, id) })
  const findings: Finding[] = []
  for await (const finding of doctor(store)) findings.push(finding)
  return { sessions, findings }
}

async function recordsOf({ parts }: Store, id: string): Promise<Pick<SessionFound, 'counted' | 'kept'>> {
  const journal = parts.engine.journal(parts.engine.name(parts.space, id))
  const [first = 0] = await journal.segments()
  const counted = new Map<number, Counted>()
  let [kept, begun] = [first, false]
  let [current, sealedNext, hole]: [number, number | undefined, number] = [first, undefined, first]
  for await (const { verdict, segment } of history(journal)) {
    if (segment !== current) {
      // After a power cut, segments that a purge was removing can be back, without some between them: a seal then names a segment that is not there.
      // A segment without a seal says nothing about the next one, because its seal may have been lost.
      if (sealedNext !== undefined && sealedNext !== segment) hole = segment
      sealedNext = undefined
      current = segment
    }
    if (verdict.kind === 'counted' && !verdict.carried && verdict.record.type === 'segment.sealed') {
      sealedNext = typeof verdict.record.next === 'number' ? verdict.record.next : verdict.end
      if (verdict.record.why === 'purge') kept = Math.max(kept, hole)
    }
    // What begins with a segment that holds nothing was purged, and a late writer has made that one again.
    if (!begun) kept = segment
    if (verdict.kind !== 'counted') continue
    counted.set(verdict.at, verdict)
    // Unless the next one carries what it had held.
    if (verdict.carried && verdict.at >= first) kept = Math.min(kept, first)
    begun = true
  }
  const own = [...counted.values()].filter(({ record, at }) => record.type !== 'segment.sealed' && at >= kept)
  return { counted: own.sort((a, b) => a.at - b.at), kept }
}

async function archivesOf(store: Store, id: string): Promise<Archives> {
  const { archives } = await new Handle(store.parts, id).liveState()
  const own = archives.filter(({ session }) => session === null)
  const numbers = (isDone: boolean): number[] => own.filter(({ status }) => (status === 'completed') === isDone).map(({ number }) => number)
  return { completed: numbers(true), pending: numbers(false) }
}

async function shownBy(store: Store, id: string): Promise<SessionFound['shown']> {
  try {
    const { version, view } = await viewOf(store, id)
    if (view === undefined) throw new Error(`The session ${id} changes although nobody writes.`)
    return { version, view, archives: await archivesOf(store, id) }
  } catch (error) {
    // Of one that was being made when the power went, nobody knows whether it ever was.
    if (error instanceof HoldfastError && (error.code === 'NOT_FOUND' || error.code === 'DAMAGED')) return undefined
    throw error
  }
}
