/**
 * Everything that is wrong with one session, as far as its journal and those of its relatives show it. What a person has accepted is a note, and
 * what another problem explains is left out.
 */
import type { Engine, Journal } from '../engine/port.ts'
import type { AcknowledgedDamage } from '../session/records.ts'
import type { AcceptedGap, SessionState } from '../session/state.ts'
import { checkFamily, type Surroundings } from './family.ts'
import { acknowledgedOf, isDamage, type Problem } from './findings.ts'
import { LineCheck } from './line-check.ts'
import { acceptedProblems, covers, isInside, noticedProblems, rangeOf } from './loss.ts'

/** `state`: undefined if the journal cannot be loaded. `sealed`: its records cannot be decrypted. */
export async function* sessionProblems(
  parts: Surroundings,
  journal: Journal,
  state: SessionState | undefined,
  sealed = false,
): AsyncGenerator<Problem> {
  const acknowledged = yield* journalProblems(parts.engine, journal, state, sealed)
  if (state === undefined) return
  yield* acceptedProblems(state, await journal.segments())
  if (state.status === 'absent') return
  if (state.id === null) yield { kind: 'no-identity' }
  if (state.erasing.length > 0) yield { kind: 'unfinished-erasure' }
  for await (const problem of checkFamily(parts, state)) yield isAcknowledged(problem, acknowledged) ? { kind: 'acknowledged' } : problem
}

/** Whether every line of a journal can be read, or what cannot was accepted. */
export async function isWhole(engine: Engine, journal: Journal, state: SessionState): Promise<boolean> {
  for await (const { kind } of journalProblems(engine, journal, state, false)) if (isDamage(kind)) return false
  return true
}

/** What is wrong with the lines of a journal. Returns what its records acknowledge. */
async function* journalProblems(
  engine: Engine,
  journal: Journal,
  state: SessionState | undefined,
  sealed: boolean,
): AsyncGenerator<Problem, readonly AcknowledgedDamage[]> {
  const lines = new LineCheck(engine, journal, state, sealed)
  // What was found may have been acknowledged further on.
  const held: Problem[] = []
  try {
    for await (const problem of lines.run()) {
      if (isDamage(problem.kind)) held.push(problem)
      else yield problem
    }
    if (state !== undefined) held.push(...noticedProblems(state, held, await journal.segments()))
  } catch (error) {
    yield* held
    throw error
  }
  const { acknowledged } = lines
  const accepted = state?.accepted ?? []
  for (const problem of held) {
    if (isConsequence(problem, held, accepted)) continue
    const isKnown = isAcknowledged(problem, acknowledged) || accepted.some((gap) => isInside(gap, problem.place))
    yield isKnown ? { kind: 'acknowledged', place: problem.place } : problem
  }
  return acknowledged
}

/** A message that follows a lost one adds nothing to that loss. */
function isConsequence({ follows }: Problem, others: readonly Problem[], accepted: readonly AcceptedGap[]): boolean {
  if (follows === undefined) return false
  return others.some(({ place }) => covers(rangeOf(place), follows)) || accepted.some((gap) => covers(gap, follows))
}

function isAcknowledged(problem: Problem, acknowledged: readonly AcknowledgedDamage[]): boolean {
  const { kind, segment, offset, length } = acknowledgedOf(problem)
  return acknowledged.some(
    (known) => known.kind === kind && known.segment === segment && known.offset === offset && known.length === length,
  )
}
