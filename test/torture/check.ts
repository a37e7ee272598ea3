/**
 * Whether one history explains what all clients of a store were told, and what the store holds at the end. Every rule is a pure function from the two to
 * what breaks it; none knows how the calls were made. Messages of one session have one order, the store's; a call takes effect at one moment between its
 * making and its answer, and one that nobody answered at any moment behind its making, or never.
 *
 * `shrink.ts` looks for the fewest calls that still break a rule.
 */
import { type Case, caseOf, type FinalSession, isHidden, isUnsure, nameOf, of } from './case.ts'
import { acceptedContinues, harmedTakesNothing, noFalseAlarms, shorterReportsDamage, vanishedIsNotNew } from './damage-rules.ts'
import { dutiesOf, harmsOf, isDuring, isUnnoticed, Order } from './harms.ts'
import type { Call, Expectation, Found, History } from './history.ts'
import { readsNeverGoBack } from './reads.ts'

/** What the store holds when everybody is done. */
export interface Final {
  readonly sessions: ReadonlyMap<string, FinalSession>
  /** Where a list or a search of the catalog that followed everything differs from one that was made anew. */
  readonly catalog: readonly string[]
  /** What the doctor calls damage. */
  readonly damage: readonly Found[]
  /** Summaries that nobody made, although there was time. */
  readonly unfinished: readonly string[]
}

export interface Violation {
  readonly rule: Rule
  readonly session: string
  readonly what: string
}

type Told = Omit<Violation, 'rule'>
/** Of one session at a time. */
const SESSION_RULES = {
  'acknowledged once': acknowledgedOnce,
  'refused is absent': refusedIsAbsent,
  'one order': oneOrder,
  'reads never go backwards': readsNeverGoBack,
  'conditions hold': conditionsHold,
  'titles are the last ones': titles,
  'commits are disjoint': commitsAreDisjoint,
  'extracted once': extractedOnce,
  'deleted stays deleted': deletedStaysDeleted,
  'only what was deleted goes': onlyDeletedGoes,
  'harmed sessions take nothing': harmedTakesNothing,
  'shorter reads report damage': shorterReportsDamage,
  'vanished is not new': vanishedIsNotNew,
  'accepted sessions continue': acceptedContinues,
} as const satisfies Record<string, (one: Case) => Iterable<string>>

const STORE_RULES = {
  'a fork is a beginning': forks,
  'extracted by one session': extractedByOne,
  'followers miss nothing': followers,
  'searches find': searches,
  'lists are complete': lists,
  'no false alarms': (history, { damage }) => noFalseAlarms(history, damage),
  'catalog equals rebuild': (_, { catalog }) => catalog.map((what) => ({ session: '', what })),
  'no process ends unless it was killed': ends,
  'nothing is written without the store': ({ stray }) => stray.map((what) => ({ session: '', what })),
  'every summary is made': (_, { unfinished }) => unfinished.map((what) => ({ session: '', what })),
} as const satisfies Record<string, (history: History, final: Final) => Iterable<Told>>

export type Rule = keyof typeof SESSION_RULES | keyof typeof STORE_RULES

export function check(history: History, final: Final): Violation[] {
  const found: Violation[] = []
  for (const [session, end] of endsOf(history, final)) {
    if (end.parent !== null) continue
    const one = caseOf(session, history, end)
    for (const [rule, holds] of Object.entries(SESSION_RULES)) {
      for (const what of holds(one)) found.push({ rule: rule as Rule, session, what })
    }
  }
  for (const [rule, holds] of Object.entries(STORE_RULES)) {
    for (const told of holds(history, final)) found.push({ rule: rule as Rule, ...told })
  }
  return found
}

/** Of sessions that nobody finds any more too. */
function endsOf({ calls }: History, { sessions }: Final): Map<string, FinalSession> {
  const ends = new Map(sessions)
  for (const { told, session } of of(calls, 'append', 'import')) if (told === 'ok' && !ends.has(session)) ends.set(session, GONE)
  return ends
}

export const GONE: FinalSession = { parent: null, status: 'purged', tags: [], archives: [], live: [], title: null, extracted: [] }

/** But for what a harm took: exactly that, and what was written in the very moment of it. */
function* acknowledgedOnce({ calls, final, harms, order, places }: Case): Generator<string> {
  if (final.status === 'purged') return
  if (places.size < final.tags.length) yield `${twice(final.tags).join(', ')} is there twice`
  const wanted = new Set<string>()
  for (const call of of(calls, 'append', 'import')) {
    for (const tag of call.tags) wanted.add(tag)
    const isMissing = (tag: string): boolean => !places.has(tag) && !order.isLost(tag) && !isUnsure(call, harms)
    if (call.told === 'ok') for (const tag of call.tags) if (isMissing(tag)) yield `${tag} was acknowledged to ${nameOf(call)} and is gone`
    const there = call.tags.filter((tag) => places.has(tag))
    if (there.length > 0 && there.length < call.tags.length && call.kind === 'append')
      yield `of the batch ${nameOf(call)} there is ${there.join(', ')} only`
  }
  for (const tag of final.tags) if (!wanted.has(tag)) yield `nobody ever appended ${tag}`
}

/** What was told not to have happened does not turn up. */
function* refusedIsAbsent({ calls, places }: Case): Generator<string> {
  for (const call of of(calls, 'append')) {
    if (call.told !== 'refused') continue
    for (const tag of call.tags) if (places.has(tag)) yield `${tag} is there, although ${nameOf(call)} was refused with ${call.code}`
  }
}

/** Whoever begins when another one has been answered comes behind it; a batch stands together; so does each client's own. */
function* oneOrder({ calls, order }: Case): Generator<string> {
  const placed = of(calls, 'append').flatMap((call) => {
    const at = call.tags.map((tag) => order.placeOf(tag)).filter((place) => place !== undefined)
    return at.length === 0 ? [] : [{ call, at }]
  })
  for (const { call, at } of placed) {
    if (at.some((place, index) => place !== (at[0] as number) + index))
      yield `the batch ${nameOf(call)} does not stand together, in its order`
  }
  // From the end: whatever stands further back was not answered before this one began.
  const byPlace = placed.sort((a, b) => (b.at[0] as number) - (a.at[0] as number))
  let earliest: { readonly call: Call } | undefined
  for (const { call } of byPlace) {
    if (earliest !== undefined && earliest.call.ended < call.begun)
      yield `${nameOf(earliest.call)} was answered before ${nameOf(call)} began, and stands behind it`
    if (earliest === undefined || call.ended < earliest.call.ended) earliest = { call }
  }
}

/** A condition that held: nothing came between. One that did not: something may have. */
function* conditionsHold({ calls, final, harms, order }: Case): Generator<string> {
  if (final.status === 'purged') return
  const changing = of(calls, 'append', 'describe', 'commit', 'delete', 'fork', 'import', 'accept')
  for (const call of of(calls, 'append')) {
    const { expect, tags } = call
    if (expect === undefined) continue
    const [tag = ''] = tags
    const place = order.placeOf(tag)
    if (place !== undefined) {
      if (!order.areNeighbours(expect.last, tag))
        yield `${nameOf(call)} was to follow ${expect.last}, and follows ${order.tagAt(place - 1) ?? null}`
      const between = changing.find((other) => isBetween(other, expect, call))
      if (between !== undefined) yield `${nameOf(call)} was accepted, although ${nameOf(between)} had changed the session`
    } else if (call.told === 'refused' && call.code === 'CONFLICT') {
      const reason = changing.some(
        (other) => other !== call && other.begun < call.ended && other.ended > expect.from && other.told !== 'refused',
      )
      const wasHarmed = harms.some((harm) => isDuring({ begun: expect.from, ended: call.ended }, harm))
      if (!reason && !wasHarmed) yield `${nameOf(call)} was refused, although nobody had changed the session`
    }
  }
}

function isBetween(other: Call, { to }: Expectation, call: Call): boolean {
  if (other.told !== 'ok' || other.begun <= to || other.ended >= call.begun) return false
  // A commit that found nothing to archive changes nothing.
  return other.kind !== 'commit' || other.archive !== undefined
}

/** Whoever looks sees a title that nobody had replaced before, unless a harm took the one that replaced it. */
function* titles({ session, calls, final, harms }: Case): Generator<string> {
  const given = of(calls, 'describe')
  const isLost = (other: Call & { readonly title: string }, ended: number): boolean =>
    harms.some((harm) => harm.from < ended && (harm.titles.includes(other.title) || isDuring(other, harm)))
  const isStale = (title: string | null, { begun, ended }: Pick<Call, 'begun' | 'ended'>): boolean => {
    const made = given.find((call) => call.title === title)
    return given.some((other) => {
      if (other.told !== 'ok' || other.ended >= begun || other === made || isLost(other, ended)) return false
      return made === undefined || made.ended < other.begun
    })
  }
  const looks = calls.flatMap((call) => {
    const own = (call.seen ?? []).filter((extent) => extent.session === session && !isHidden(call, extent, harms))
    return own.map(({ title }) => ({ call, title }))
  })
  for (const { call, title } of looks) if (isStale(title, call)) yield `${nameOf(call)} saw the title "${title}", which had been replaced`
  if (final.status === 'ok' && isStale(final.title, { begun: Number.POSITIVE_INFINITY, ended: Number.POSITIVE_INFINITY }))
    yield `the title is "${final.title}", which had been replaced`
}

/** Archives that a harm took may be made again, under the same number. */
function* commitsAreDisjoint({ calls, final, harms }: Case): Generator<string> {
  if (final.status === 'purged') return
  const archived = final.archives.flatMap(({ tags }) => tags)
  for (const tag of twice(archived)) yield `${tag} is in two archives`
  // Where something is missing from the middle, nobody can say how much is live.
  if (archived.concat(final.live).join() !== final.tags.join() && !harms.some(({ isTail }) => !isTail))
    yield 'the archives and what is live are not all messages'
  const made = new Map<number, Call>()
  for (const call of of(calls, 'commit')) {
    const { archive } = call
    if (archive === undefined || harms.some((harm) => harm.archives.includes(archive) || isDuring(call, harm))) continue
    const other = made.get(archive)
    if (other !== undefined) yield `${nameOf(call)} and ${nameOf(other)} were both given archive ${archive}`
    made.set(archive, call)
    if (!final.archives.some(({ number }) => number === archive)) yield `${nameOf(call)} was given archive ${archive}, which is gone`
  }
}

function* extractedOnce({ final, harms }: Case): Generator<string> {
  if (final.status !== 'ok') return
  const own = new Set(final.archives.flatMap(({ tags }) => tags))
  for (const tag of twice(final.extracted)) yield `memories were extracted from ${tag} twice`
  if (harms.length > 0) return
  for (const tag of final.extracted) if (!own.has(tag)) yield `memories were extracted from ${tag}, which no archive holds`
}

function* deletedStaysDeleted({ calls, final }: Case): Generator<string> {
  for (const removal of of(calls, 'delete')) {
    if (removal.told !== 'ok') continue
    if (final.status === 'ok') yield `${nameOf(removal)} deleted it, and it is back`
    for (const call of calls) {
      if (call === removal || call.begun < removal.ended || call.told !== 'ok') continue
      if (call.kind === 'delete' || call.kind === 'search' || call.kind === 'doctor') continue
      yield `${nameOf(call)} (${call.kind}) was accepted after ${nameOf(removal)} had deleted it`
    }
  }
}

function* onlyDeletedGoes({ calls, purges, final, harms, duties }: Case): Generator<string> {
  // A young session that was taken as a whole leaves no trace.
  if (final.status !== 'purged' || harms.some((harm) => isUnnoticed(harm, duties) && harm.lost.length === harm.before.length)) return
  const isPurged = of(calls, 'delete').some(({ told, begun }) => told !== 'refused' && purges.some(({ ended }) => ended > begun))
  if (!isPurged) yield 'it is gone, and nobody had deleted and purged it'
}

function* forks(history: History, { sessions }: Final): Generator<Told> {
  for (const call of of(history.calls, 'fork')) {
    const child = sessions.get(call.child)
    const parent = sessions.get(call.session)
    if (call.told === 'ok' && child === undefined) yield { session: call.child, what: `${nameOf(call)} made it, and it is gone` }
    if (child === undefined || parent === undefined || parent.status === 'purged') continue
    if (!new Order(parent.tags, harmsOf(history, call.session)).isBeginning(child.tags))
      yield { session: call.child, what: `it does not begin as ${call.session} does` }
  }
}

function* extractedByOne(_: History, { sessions }: Final): Generator<Told> {
  const by = new Map<string, string>()
  for (const [session, { extracted }] of sessions) {
    for (const tag of new Set(extracted)) {
      const other = by.get(tag)
      if (other !== undefined) yield { session, what: `memories were extracted from ${tag} here and in ${other}` }
      by.set(tag, session)
    }
  }
}

/** Everything that is there, once and in order; what a harm took, or what was written in the moment of it, may have been shown before. */
function* followers(history: History, { sessions }: Final): Generator<Told> {
  for (const { client, session, tags, resets = 0 } of history.followed) {
    const end = sessions.get(session)
    if (end === undefined || end.status !== 'ok') continue
    const harms = harmsOf(history, session)
    if (resets > 0 && harms.length === 0) yield { session, what: `${client} had to begin again, although nothing had been taken` }
    // Whoever followed a session that lost its young end unnoticed waits at a place that others write over.
    const duties = dutiesOf(harms, history)
    if (harms.some((harm) => isUnnoticed(harm, duties))) continue
    const order = new Order(end.tags, harms)
    const unsure = new Set(of(history.calls, 'append', 'import').flatMap((call) => (isUnsure(call, harms) ? call.tags : [])))
    const shown = tags.filter((tag) => order.placeOf(tag) !== undefined || !unsure.has(tag))
    const wrong = order.firstDifference(shown)
    if (wrong !== undefined)
      yield { session, what: `${client} was shown ${wrong.shown ?? 'nothing'} in place of ${wrong.due ?? 'nothing'}` }
  }
}

/** A message that was acknowledged before a search for it began is found once. */
function* searches(history: History, { sessions }: Final): Generator<Told> {
  const { calls } = history
  const deleted = new Set(of(calls, 'delete').map(({ session }) => session))
  const acknowledged = new Map(
    of(calls, 'append').flatMap(({ told, tags, ended }) => (told === 'ok' ? tags.map((tag) => [tag, ended] as const) : [])),
  )
  for (const call of of(calls, 'search')) {
    if (call.told !== 'ok' || deleted.has(call.session) || !sessions.has(call.session)) continue
    // While it is harmed, a session is searched as far as it is known.
    if (harmsOf(history, call.session).some(({ from }) => from < call.ended)) continue
    const hits = call.hits ?? 0
    if (hits === 0 && mayLackRows(history, call)) continue
    if (hits > 1 || (hits === 0 && (acknowledged.get(call.tag) ?? Number.POSITIVE_INFINITY) < call.begun))
      yield { session: call.session, what: `${nameOf(call)} found ${call.tag} ${hits} times` }
  }
}

/** A list of all sessions has each one that was written to before it began, unless somebody may have deleted or harmed it. */
function* lists(history: History): Generator<Told> {
  const { calls } = history
  const known = new Map<string, Call>()
  for (const call of of(calls, 'append', 'describe', 'import').filter(({ told }) => told === 'ok')) {
    const other = known.get(call.session)
    if (other === undefined || call.ended < other.ended) known.set(call.session, call)
  }
  const changing = of(calls, 'delete', 'recreate').filter(({ told }) => told !== 'refused')
  for (const call of of(calls, 'list')) {
    if (call.told !== 'ok' || call.listed === undefined) continue
    for (const id of twice(call.listed)) yield { session: id, what: `${nameOf(call)} listed it twice` }
    if (mayLackRows(history, call)) continue
    const listed = new Set(call.listed)
    for (const [session, by] of known) {
      if (by.ended >= call.begun || listed.has(session)) continue
      const isDeleted = changing.some((other) => other.session === session && other.begun < call.ended)
      const isHarmed = harmsOf(history, session).some(({ from }) => from < call.ended)
      if (!isDeleted && !isHarmed) yield { session, what: `${nameOf(call)} did not list it, although ${nameOf(by)} had written to it` }
    }
  }
}

/** A check finds rows and words that an answer should have had. There is one in each minute. */
export const REPAIRED_US = 60_000_000

/** Whether a bit of the catalog was flipped shortly before an answer: it may lack rows, and has no wrong ones. */
function mayLackRows({ flips }: History, { begun, ended }: Call): boolean {
  return flips.some(({ file, from, to }) => file.startsWith('catalog') && from < ended && to > begun - REPAIRED_US)
}

/** Troubles because of which a process may be refused the store when it starts. */
const UNREACHABLE: readonly string[] = ['fault', 'unmount', 'kill database', 'cut', 'reset', 'slow']

function* ends({ ends: all, strikes }: History): Generator<Told> {
  for (const { place, code, signal, complaint, isRefused, from, to } of all) {
    const isStruck = strikes.some(
      (strike) => UNREACHABLE.includes(strike.kind) && (strike.place ?? place) === place && strike.from <= to && strike.to >= from,
    )
    if (!(isRefused && isStruck)) yield { session: '', what: `${place} ended with ${code ?? signal}: ${complaint}` }
  }
}

function twice(tags: readonly string[]): string[] {
  const first = new Map<string, number>()
  for (const [place, tag] of tags.entries()) if (!first.has(tag)) first.set(tag, place)
  return tags.filter((tag, place) => first.get(tag) !== place)
}
