/** Builds small histories and the ends of stores by hand, so that tests can plant what a rule must catch. */
import type { FinalSession } from './case.ts'
import { check, type Final, type Rule } from './check.ts'
import { type Answer, type Call, digestOf, type Extent, type History, NOTHING, type Wish } from './history.ts'

/** The session of all calls that do not name one. */
export const S = 's'
export const never = Number.POSITIVE_INFINITY

type Times = readonly [begun: number, ended: number]

/** A call that was made and answered at these moments. */
export function call(client: string, [begun, ended]: Times, wish: Wish, answer: Partial<Answer> = {}): Call {
  return { ...wish, told: 'ok', ...answer, client, number: begun, begun, ended }
}

export const append = (client: string, at: Times, tags: string[], answer: Partial<Answer> = {}): Call =>
  call(client, at, { kind: 'append', session: S, tags }, answer)

export const conditional = (at: Times, tag: string, last: string | null, looked: Times, answer?: Partial<Answer>): Call =>
  call('c', at, { kind: 'append', session: S, tags: [tag], expect: { version: 'v', last, from: looked[0], to: looked[1] } }, answer)

export const read = (client: string, at: Times, tags: string[], title: string | null = null, damage: Partial<Extent> = {}): Call =>
  call(client, at, { kind: 'read', session: S }, { seen: [{ session: S, count: tags.length, digest: digestOf(tags), title, ...damage }] })

export const describeAs = (at: Times, title: string): Call => call('d', at, { kind: 'describe', session: S, title })

export function sessionOf(tags: string[], over: Partial<FinalSession> = {}): FinalSession {
  return { parent: null, status: 'ok', tags, archives: [], live: tags, title: null, extracted: [], ...over }
}

export function finalOf(tags: string[], over: Partial<FinalSession> = {}, store: Partial<Final> = {}): Final {
  return { sessions: new Map([[S, sessionOf(tags, over)]]), catalog: [], damage: [], unfinished: [], ...store }
}

/** The rules that a history breaks, each once. */
export function broken(calls: readonly Call[], final: Final, rest: Partial<History> = {}): Rule[] {
  return [...new Set(check({ ...NOTHING, ...rest, calls }, final).map(({ rule }) => rule))]
}
