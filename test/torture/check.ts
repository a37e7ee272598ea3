/**
 * Whether one history explains what all clients of a store were told, and what the store holds at the end. Every rule is a pure function from the two to
 * what breaks it; none knows how the calls were made. Messages of one session have one order, the store's; a call takes effect at one moment between its
 * making and its answer, and one that nobody answered at any moment behind its making, or never.
 *
 * `shrink.ts` looks for the fewest calls that still break a rule.
 */
import { type Call, digestsOf, type Expectation, type Extent, type History } from './history.ts'

export interface FinalSession {
  /** Whose beginning it has, of a fork; nobody writes to those. */
  readonly parent: string | null
  readonly status: 'ok' | 'deleted' | 'purged'
  /** Tags of all messages, archived ones too, in order. */
  readonly tags: readonly string[]
  readonly archives: readonly { readonly number: number; readonly tags: readonly string[] }[]
  readonly live: readonly string[]
  readonly title: string | null
  /** Tags of messages that memories were extracted from, each as often as it was. */
  readonly extracted: readonly string[]
}

/** What the store holds when everybody is done. */
export interface Final {
  readonly sessions: ReadonlyMap<string, FinalSession>
  /** Where a list or a search of the catalog that followed everything differs from one that was made anew. */
  readonly catalog: readonly string[]
  /** What the doctor calls damage. */
  readonly damage: readonly string[]
  /** Summaries that nobody made, although there was time. */
  readonly unfinished: readonly string[]
}

export interface Violation {
  readonly rule: Rule
  readonly session: string
  readonly what: string
}

type Told = Omit<Violation, 'rule'>
/** The calls and the end of one session. */
interface Case {
  readonly session: string
  readonly calls: readonly Call[]
  readonly final: FinalSession
  readonly places: ReadonlyMap<string, number>
}

type Of<K extends Call['kind']> = Extract<Call, { readonly kind: K }>

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
} as const satisfies Record<string, (one: Case) => Iterable<string>>

const STORE_RULES = {
  'a fork is a beginning': forks,
  'extracted by one session': extractedByOne,
  'followers miss nothing': followers,
  'searches find': searches,
  'doctor is clean': doctorIsClean,
  'catalog equals rebuild': (_, { catalog }) => catalog.map((what) => ({ session: '', what })),
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

function caseOf(session: string, { calls }: History, final: FinalSession): Case {
  const own = calls.filter((call) => {
    if ('session' in call) return call.session === session
    return call.kind === 'purge' || call.seen?.some((one) => one.session === session)
  })
  return { session, calls: own, final, places: new Map(final.tags.map((tag, place) => [tag, place])) }
}

function of<K extends Call['kind']>(calls: readonly Call[], ...kinds: readonly K[]): Of<K>[] {
  return calls.filter((call): call is Of<K> => (kinds as readonly string[]).includes(call.kind))
}

function nameOf({ client, number }: Call): string {
  return `${client}#${number}`
}

function* acknowledgedOnce({ calls, final, places }: Case): Generator<string> {
  if (final.status === 'purged') return
  if (places.size < final.tags.length) yield `${twice(final.tags).join(', ')} is there twice`
  const wanted = new Set<string>()
  for (const call of of(calls, 'append', 'import')) {
    for (const tag of call.tags) wanted.add(tag)
    if (call.told === 'ok')
      for (const tag of call.tags) if (!places.has(tag)) yield `${tag} was acknowledged to ${nameOf(call)} and is gone`
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
function* oneOrder({ calls, places }: Case): Generator<string> {
  const placed = of(calls, 'append').flatMap((call) => {
    const at = call.tags.map((tag) => places.get(tag)).filter((place) => place !== undefined)
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

/** How many messages somebody knew to be there, by when. */
interface Known {
  readonly at: number
  readonly count: number
  readonly by: Call
}

/**
 * Every read is a beginning of the one order, has everything that anybody was told or shown before it began, and nothing that was appended after it. A list
 * has what was acknowledged, or listed, before it began: what somebody has read of a call that is under way need not have been announced yet.
 */
function* readsNeverGoBack({ session, calls, final, places }: Case): Generator<string> {
  if (final.status !== 'ok') return
  const digests = digestsOf(final.tags)
  // Several may import the same: the first of them.
  const begun = new Map<string, Call>()
  for (const call of of(calls, 'append', 'import')) for (const tag of call.tags) if (!begun.has(tag)) begun.set(tag, call)
  const acknowledged = of(calls, 'append', 'import').flatMap((call): Known[] => {
    if (call.told !== 'ok') return []
    return [{ at: call.ended, count: Math.max(...call.tags.map((tag) => places.get(tag) ?? -1)) + 1, by: call }]
  })
  const reads = calls.flatMap((call) => (call.seen ?? []).filter((one) => one.session === session).map((extent) => ({ call, extent })))
  const asKnown = ({ call, extent }: { call: Call; extent: Extent }): Known => ({ at: call.ended, count: extent.count, by: call })
  const lists = reads.filter(({ call }) => call.kind === 'list')
  yield* tooShort(reads.filter(({ call }) => call.kind !== 'list').map(asKnown), [...acknowledged, ...reads.map(asKnown)])
  yield* tooShort(lists.map(asKnown), [...acknowledged, ...lists.map(asKnown)])
  for (const { call, extent } of reads) {
    if (extent.digest !== '' && digests[extent.count] !== extent.digest) yield `${nameOf(call)} saw another beginning than there is now`
    if (extent.count > final.tags.length) yield `${nameOf(call)} saw ${extent.count} messages; there are ${final.tags.length}`
    const last = begun.get(final.tags[extent.count - 1] ?? '')
    if (last !== undefined && last.begun > call.ended) yield `${nameOf(call)} saw what ${nameOf(last)} had not begun to append`
  }
}

/** Looks that saw less than was known when they began. */
function* tooShort(looks: readonly Known[], all: readonly Known[]): Generator<string> {
  const known = [...all].sort((a, b) => a.at - b.at)
  let next = 0
  let most: Known | undefined
  for (const { by, count } of [...looks].sort((a, b) => a.by.begun - b.by.begun)) {
    for (; (known[next]?.at ?? Number.POSITIVE_INFINITY) < by.begun; next++) {
      if (most === undefined || (known[next] as Known).count > most.count) most = known[next]
    }
    if (most !== undefined && count < most.count)
      yield `${nameOf(by)} saw ${count} messages, although ${nameOf(most.by)} had been told of ${most.count} before`
  }
}

/** A condition that held: nothing came between. One that did not: something may have. */
function* conditionsHold({ calls, final, places }: Case): Generator<string> {
  if (final.status === 'purged') return
  const changing = of(calls, 'append', 'describe', 'commit', 'delete', 'fork', 'import')
  for (const call of of(calls, 'append')) {
    const { expect, tags } = call
    if (expect === undefined) continue
    const place = places.get(tags[0] as string)
    if (place !== undefined) {
      const before = final.tags[place - 1] ?? null
      if (before !== expect.last) yield `${nameOf(call)} was to follow ${expect.last}, and follows ${before}`
      const between = changing.find((other) => isBetween(other, expect, call))
      if (between !== undefined) yield `${nameOf(call)} was accepted, although ${nameOf(between)} had changed the session`
    } else if (call.told === 'refused' && call.code === 'CONFLICT') {
      const reason = changing.some(
        (other) => other !== call && other.begun < call.ended && other.ended > expect.from && other.told !== 'refused',
      )
      if (!reason) yield `${nameOf(call)} was refused, although nobody had changed the session`
    }
  }
}

function isBetween(other: Call, { to }: Expectation, call: Call): boolean {
  if (other.told !== 'ok' || other.begun <= to || other.ended >= call.begun) return false
  // A commit that found nothing to archive changes nothing.
  return other.kind !== 'commit' || other.archive !== undefined
}

/** Whoever looks sees a title that nobody had replaced before. */
function* titles({ session, calls, final }: Case): Generator<string> {
  const given = of(calls, 'describe')
  const isStale = (title: string | null, begun: number): boolean => {
    const made = given.find((call) => call.title === title)
    return given.some(
      (other) => other.told === 'ok' && other.ended < begun && other !== made && (made === undefined || made.ended < other.begun),
    )
  }
  const looks = calls.flatMap((call) => (call.seen ?? []).filter((one) => one.session === session).map(({ title }) => ({ call, title })))
  for (const { call, title } of looks)
    if (isStale(title, call.begun)) yield `${nameOf(call)} saw the title "${title}", which had been replaced`
  if (final.status === 'ok' && isStale(final.title, Number.POSITIVE_INFINITY))
    yield `the title is "${final.title}", which had been replaced`
}

function* commitsAreDisjoint({ calls, final }: Case): Generator<string> {
  if (final.status === 'purged') return
  const archived = final.archives.flatMap(({ tags }) => tags)
  for (const tag of twice(archived)) yield `${tag} is in two archives`
  if (archived.concat(final.live).join() !== final.tags.join()) yield 'the archives and what is live are not all messages'
  const made = new Map<number, Call>()
  for (const call of of(calls, 'commit')) {
    if (call.archive === undefined) continue
    const other = made.get(call.archive)
    if (other !== undefined) yield `${nameOf(call)} and ${nameOf(other)} were both given archive ${call.archive}`
    made.set(call.archive, call)
    if (!final.archives.some(({ number }) => number === call.archive))
      yield `${nameOf(call)} was given archive ${call.archive}, which is gone`
  }
}

function* extractedOnce({ final }: Case): Generator<string> {
  if (final.status !== 'ok') return
  const own = new Set(final.archives.flatMap(({ tags }) => tags))
  for (const tag of twice(final.extracted)) yield `memories were extracted from ${tag} twice`
  for (const tag of final.extracted) if (!own.has(tag)) yield `memories were extracted from ${tag}, which no archive holds`
}

function* deletedStaysDeleted({ calls, final }: Case): Generator<string> {
  for (const removal of of(calls, 'delete')) {
    if (removal.told !== 'ok') continue
    if (final.status === 'ok') yield `${nameOf(removal)} deleted it, and it is back`
    for (const call of calls) {
      if (call === removal || call.begun < removal.ended || call.told !== 'ok') continue
      if (call.kind === 'delete' || call.kind === 'search' || call.kind === 'doctor' || call.kind === 'purge') continue
      yield `${nameOf(call)} (${call.kind}) was accepted after ${nameOf(removal)} had deleted it`
    }
  }
}

function* onlyDeletedGoes({ calls, final }: Case): Generator<string> {
  if (final.status !== 'purged') return
  const purges = of(calls, 'purge').filter(({ told }) => told !== 'refused')
  const isPurged = of(calls, 'delete').some(({ told, begun }) => told !== 'refused' && purges.some(({ ended }) => ended > begun))
  if (!isPurged) yield 'it is gone, and nobody had deleted and purged it'
}

function* forks({ calls }: History, { sessions }: Final): Generator<Told> {
  for (const call of of(calls, 'fork')) {
    const child = sessions.get(call.child)
    const parent = sessions.get(call.session)
    if (call.told === 'ok' && child === undefined) yield { session: call.child, what: `${nameOf(call)} made it, and it is gone` }
    if (child === undefined || parent === undefined || parent.status === 'purged') continue
    if (child.tags.some((tag, place) => parent.tags[place] !== tag))
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

function* followers({ followed }: History, { sessions }: Final): Generator<Told> {
  for (const { client, session, tags } of followed) {
    const end = sessions.get(session)
    if (end === undefined || end.status !== 'ok') continue
    const wrong = tags.findIndex((tag, place) => end.tags[place] !== tag)
    if (wrong !== -1) yield { session, what: `${client} was shown ${tags[wrong]} in place of ${end.tags[wrong] ?? 'nothing'}` }
    if (tags.length < end.tags.length) yield { session, what: `${client} was never shown ${end.tags[tags.length]}` }
  }
}

/** A message that was acknowledged before a search for it began is found once. */
function* searches({ calls }: History, { sessions }: Final): Generator<Told> {
  const deleted = new Set(of(calls, 'delete').map(({ session }) => session))
  const acknowledged = new Map(
    of(calls, 'append').flatMap(({ told, tags, ended }) => (told === 'ok' ? tags.map((tag) => [tag, ended] as const) : [])),
  )
  for (const call of of(calls, 'search')) {
    if (call.told !== 'ok' || deleted.has(call.session) || !sessions.has(call.session)) continue
    const hits = call.hits ?? 0
    if (hits > 1 || (hits === 0 && (acknowledged.get(call.tag) ?? Number.POSITIVE_INFINITY) < call.begun))
      yield { session: call.session, what: `${nameOf(call)} found ${call.tag} ${hits} times` }
  }
}

function* doctorIsClean({ calls }: History, { damage }: Final): Generator<Told> {
  for (const what of damage) yield { session: '', what }
  for (const call of of(calls, 'doctor'))
    for (const what of call.damage ?? []) yield { session: '', what: `${nameOf(call)} was told: ${what}` }
}

function twice(tags: readonly string[]): string[] {
  const first = new Map<string, number>()
  for (const [place, tag] of tags.entries()) if (!first.has(tag)) first.set(tag, place)
  return tags.filter((tag, place) => first.get(tag) !== place)
}
