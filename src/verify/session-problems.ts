/**
 * Everything that is wrong with one session, as far as its journal and those of its relatives show it. What a person has accepted is a note, and
 * what another problem explains is left out.
 */
import type { Engine, Journal } from '../engine/port.ts'
import type { Loss } from '../journal/loss.ts'
import type { AcknowledgedDamage } from '../session/records.ts'
import type { AcceptedGap, SessionState } from '../session/state.ts'
import { checkFamily, type Surroundings } from './family.ts'
import { acknowledgedOf, isDamage, type Problem } from './findings.ts'
import { LineCheck } from './line-check.ts'
import { acceptedProblems, covers, isExplained, isHarmless, isInside, noticedProblems, rangeOf } from './loss.ts'

/** A session as it was loaded. */
export interface Examined {
  /** Undefined if the journal cannot be loaded. */
  readonly state: SessionState | undefined
  /** What it lost and no one has accepted. */
  readonly loss?: Loss | undefined
  /** Its records cannot be decrypted. */
  readonly encrypted?: boolean
}

export async function* sessionProblems(parts: Surroundings, journal: Journal, examined: Examined): AsyncGenerator<Problem> {
  const { state, loss } = examined
  const accepted = state?.accepted ?? []
  const segments = loss === undefined && accepted.length === 0 ? [] : await journal.segments()
  let isForeign = false
  for await (const problem of allProblems(parts, journal, examined)) {
    isForeign ||= problem.kind === 'wrong-identity'
    if (!isExplained(problem, { loss, accepted, segments })) yield problem
  }
  // Of files that are partly another session's, no line that counts may say so.
  if (loss?.as === 'identity' && !isForeign) yield { kind: 'wrong-identity' }
  yield* acceptedProblems(accepted, segments)
}

async function* allProblems(parts: Surroundings, journal: Journal, examined: Examined): AsyncGenerator<Problem> {
  const { state } = examined
  const acknowledged = yield* journalProblems(parts.engine, journal, examined)
  if (state === undefined || state.status === 'absent') return
  if (state.id === null) yield { kind: 'no-identity' }
  if (state.erasing.length > 0) yield { kind: 'unfinished-erasure' }
  for await (const problem of checkFamily(parts, state)) yield isAcknowledged(problem, acknowledged) ? { kind: 'acknowledged' } : problem
}

/** Whether every line of a journal can be read, or what cannot was accepted. */
export async function isWhole(engine: Engine, journal: Journal, state: SessionState): Promise<boolean> {
  for await (const { kind } of journalProblems(engine, journal, { state })) if (isDamage(kind)) return false
  return true
}

/** What is wrong with the lines of a journal. Returns what its records acknowledge. */
async function* journalProblems(
  engine: Engine,
  journal: Journal,
  { state, encrypted = false }: Examined,
): AsyncGenerator<Problem, readonly AcknowledgedDamage[]> {
  const lines = new LineCheck(engine, journal, state, encrypted)
  // What was found may have been acknowledged further on.
  const found: Problem[] = []
  try {
    for await (const problem of lines.run()) found.push(problem)
    if (state !== undefined) {
      const damage = found.filter(({ kind }) => isDamage(kind))
      found.push(...noticedProblems(state, damage, await journal.segments()))
    }
  } catch (error) {
    yield* found
    throw error
  }
  const { acknowledged } = lines
  const accepted = state?.accepted ?? []
  for (const problem of found) {
    if (isConsequence(problem, found, accepted)) continue
    const mayBeAccepted = isDamage(problem.kind) || isHarmless(problem.kind)
    const isKnown = isAcknowledged(problem, acknowledged) || accepted.some((gap) => isInside(gap, problem.place))
    yield mayBeAccepted && isKnown ? { kind: 'acknowledged', place: problem.place } : problem
  }
  return acknowledged
}

/** A message that follows a lost one adds nothing to that loss. */
function isConsequence({ follows }: Problem, others: readonly Problem[], accepted: readonly AcceptedGap[]): boolean {
  if (follows === undefined) return false
  return others.some(({ place }) => covers(rangeOf(place), follows)) || accepted.some((gap) => covers(gap, follows))
}

/** A line that looked rotten may look torn once the loss after it was accepted: it is the same place. */
function isAcknowledged(problem: Problem, acknowledged: readonly AcknowledgedDamage[]): boolean {
  const { kind, segment, offset, length } = acknowledgedOf(problem)
  return acknowledged.some(
    (known) =>
      (known.kind === kind || isHarmless(problem.kind)) && known.segment === segment && known.offset === offset && known.length === length,
  )
}
