/** Whether all of a journal can be read. */
import type { Engine, Journal } from '../engine/port.ts'
import type { AcknowledgedDamage } from '../session/records.ts'
import type { SessionState } from '../session/state.ts'
import { type Finding, findingOf, isDamage, type Problem } from './findings.ts'
import { LineCheck } from './line-check.ts'
import { isInside, noticedProblems } from './loss.ts'

/** Whether every line of a journal can be read, or what cannot was taken note of. */
export async function isWhole(engine: Engine, journal: Journal, state: SessionState): Promise<boolean> {
  const lines = new LineCheck(engine, journal, state, false)
  const held: Problem[] = []
  for await (const problem of lines.run()) if (isDamage(problem.kind)) held.push(problem)
  held.push(...noticedProblems(state, held, await journal.segments()))
  return held.every((problem) => isAcknowledged(lines, problem, state))
}

/** Whether a person has acknowledged a problem, or accepted a loss that it is part of. */
export function isAcknowledged({ acknowledged }: LineCheck, problem: Problem, state?: SessionState): boolean {
  const finding = findingOf('', problem)
  return acknowledged.some((known) => isSame(known, finding)) || (state?.accepted ?? []).some((gap) => isInside(gap, problem.place))
}

function isSame(known: AcknowledgedDamage, { kind, segment, offset, length }: Finding): boolean {
  return known.kind === kind && known.segment === segment && known.offset === offset && known.length === length
}
