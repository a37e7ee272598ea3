/**
 * The damage that Holdfast must report about sessions whose bytes were taken on purpose, and that it reports none about the others. It must notice a harm
 * that took something acknowledged two seconds before (`dutyOf` in `harms.ts`); it may notice a younger one.
 */
import { askedOf, type Case, nameOf, of } from './case.ts'
import { acceptanceOf, dutiesOf, harmsOf, isUnnoticed } from './harms.ts'
import type { Call, Found, History } from './history.ts'
import { readsOf } from './reads.ts'

/** From the harm up to the first attempt to accept it, nothing is acknowledged. */
export function* harmedTakesNothing({ calls, duties }: Case): Generator<string> {
  const writes = of(calls, 'append', 'describe', 'commit', 'delete', 'fork', 'import').filter(({ told }) => told === 'ok')
  for (const [harm, duty] of duties) {
    if (!harm.isTail) continue
    const from = Math.min(acceptanceOf(harm, calls).from, duty)
    for (const call of writes) {
      if (askedOf(call) > harm.to && call.ended < from)
        yield `${nameOf(call)} (${call.kind}) was acknowledged, although the session had been ${harm.kind} and nobody had accepted that`
    }
  }
}

/** Whoever sees less than was known before is told why; a list of an accepted loss need not say so any more. */
export function* shorterReportsDamage(one: Case): Generator<string> {
  if (one.final.status !== 'ok' || one.duties.size === 0) return
  for (const { call, extent, reach } of readsOf(one)) {
    const harm = one.harms.slice(0, reach?.met ?? 0).find((met) => met.lost.length > 0 && (one.duties.get(met) ?? 0) > call.ended)
    if (harm === undefined || (extent.damaged ?? 0) + (extent.accepted ?? 0) > 0) continue
    if (call.kind === 'list' && acceptanceOf(harm, one.calls).from < call.ended) continue
    yield `${nameOf(call)} (${call.kind}) saw ${extent.count} messages and was told of no damage, although the session had been ${harm.kind}`
  }
}

/** A session with acknowledged messages is there, or damaged; only what was taken young may have left no trace. */
export function* vanishedIsNotNew({ calls, harms, duties }: Case): Generator<string> {
  if (of(calls, 'delete').length > 0) return
  const untraced = harms.filter((harm) => isUnnoticed(harm, duties))
  const unnoticed = new Set(untraced.flatMap(({ lost }) => lost))
  // If a harm took all that an earlier one had left, it also took the note that the earlier loss was accepted.
  const emptied = untraced.filter(({ before, lost }) => before.length === lost.length)
  const kept = of(calls, 'append').filter(({ told, tags }) => told === 'ok' && !tags.some((tag) => unnoticed.has(tag)))
  for (const call of of(calls, 'read', 'accept', 'fork', 'commit')) {
    if (call.code !== 'NOT_FOUND') continue
    const from = Math.max(...emptied.filter((harm) => harm.from <= call.ended).map((harm) => harm.from))
    const known = kept.find(({ begun, ended }) => ended < call.begun && begun > from)
    if (known !== undefined)
      yield `${nameOf(call)} (${call.kind}) was told that there is no such session, although ${nameOf(known)} had written to it`
  }
}

/** Once a loss was accepted, the session continues: what is acknowledged since is kept, and not said of what the harm took. */
export function* acceptedContinues({ calls, harms, final }: Case): Generator<string> {
  for (const [number, harm] of harms.entries()) {
    const { to } = acceptanceOf(harm, calls)
    const next = harms[number + 1]?.from ?? Number.POSITIVE_INFINITY
    const since = new Set([...final.tags, ...harms.slice(number + 1).flatMap(({ before }) => before)])
    for (const call of calls) {
      if (askedOf(call) <= to || call.ended >= next) continue
      if (call.code === 'DAMAGED' && call.told !== 'ok')
        yield `${nameOf(call)} (${call.kind}) was refused, although it had been accepted that the session was ${harm.kind}`
      // The call may have been made before: what counts is when its last attempt was.
      const lost =
        call.kind === 'append' && call.told === 'ok' ? call.tags.find((tag) => harm.lost.includes(tag) && !since.has(tag)) : undefined
      if (lost !== undefined) yield `${nameOf(call)} was told that ${lost} is there, which had been lost, and the loss accepted`
    }
  }
}

/** Damage is reported of sessions that were harmed, until that was accepted, and of forks that have their beginning from those. */
export function* noFalseAlarms(history: History, damage: readonly Found[]): Generator<{ readonly session: string; readonly what: string }> {
  const parents = new Map(of(history.calls, 'fork').map(({ child, session }) => [child, session]))
  const ofSession = new Map<string, Call[]>()
  for (const call of of(history.calls, 'accept')) ofSession.set(call.session, [...(ofSession.get(call.session) ?? []), call])
  const isJustified = (session: string, asked: number, ended: number): boolean => {
    const parent = parents.get(session)
    if (parent !== undefined && harmsOf(history, parent).some(({ from }) => from <= ended)) return true
    const harms = harmsOf(history, session).filter(({ from }) => from <= ended)
    return harms.some((harm) => !harm.isTail || acceptanceOf(harm, ofSession.get(session) ?? []).to >= asked)
  }
  for (const { call, session, what } of alarmsIn(history.calls)) {
    if (!isJustified(session, askedOf(call), call.ended))
      yield { session, what: `${nameOf(call)} (${call.kind}) was told of damage: ${what}` }
  }
  for (const { session, what } of damage) {
    if (!isJustified(session, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)) yield { session, what: `at the end: ${what}` }
  }
}

interface Alarm extends Found {
  readonly call: Call
}

function* alarmsIn(calls: readonly Call[]): Generator<Alarm> {
  for (const call of calls) {
    if (call.code === 'DAMAGED' && 'session' in call) yield { call, session: call.session, what: 'refused' }
    for (const { session, damaged = 0 } of call.seen ?? []) if (damaged > 0) yield { call, session, what: `in ${damaged} places` }
    for (const { session, what } of call.damage ?? []) yield { call, session, what }
  }
}

/** What became of the harms, for the summary of a run. */
export function harmCounts(history: History): Record<string, number> {
  const counts: Record<string, number> = {}
  const count = (what: string, times = 1): void => {
    counts[what] = (counts[what] ?? 0) + times
  }
  const alarms = [...alarmsIn(history.calls)]
  const duties = dutiesOf(history.harms, history)
  for (const harm of history.harms) {
    const isNoticed = alarms.some(({ session, call }) => session === harm.session && call.ended > harm.from)
    if (harm.lost.length === 0 && harm.titles.length === 0 && harm.kind !== 'swapped') count('harms that took no message')
    else if (duties.has(harm))
      count(isNoticed ? 'harms that had to be reported, and were' : 'harms that had to be reported, and nobody looked')
    else count(isNoticed ? 'harms of young bytes, reported' : 'harms of young bytes, unnoticed (a limit)')
    count('messages taken by harms', harm.lost.length)
    count(`harm: ${harm.kind}`)
  }
  count('reports of damage', alarms.length)
  return counts
}
