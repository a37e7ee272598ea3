/** One session of a tortured store as the rules see it: its calls, its end, and what was done to it. */
import { dutiesOf, type Harm, harmsOf, isDuring, Order } from './harms.ts'
import type { Call, Extent, History } from './history.ts'

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

/** The calls and the end of one session. */
export interface Case {
  readonly session: string
  readonly calls: readonly Call[]
  /** Calls that purge every deleted session, or some of them. */
  readonly purges: readonly Call[]
  readonly final: FinalSession
  /** Where messages are now. */
  readonly places: ReadonlyMap<string, number>
  /** The one order of all messages, with those that harms took. */
  readonly order: Order
  readonly harms: readonly Harm[]
  /** Those harms that must be reported, and until when. */
  readonly duties: ReadonlyMap<Harm, number>
}

export type Of<K extends Call['kind']> = Extract<Call, { readonly kind: K }>

export function of<K extends Call['kind']>(calls: readonly Call[], ...kinds: readonly K[]): Of<K>[] {
  return calls.filter((call): call is Of<K> => (kinds as readonly string[]).includes(call.kind))
}

export function nameOf({ client, number }: Call): string {
  return `${client}#${number}`
}

/** When the attempt was made that was answered. */
export function askedOf({ asked, begun }: Call): number {
  return asked ?? begun
}

export function caseOf(session: string, history: History, final: FinalSession): Case {
  const calls = history.calls.filter((call) => {
    if ('session' in call) return call.session === session
    return call.seen?.some((one) => one.session === session)
  })
  const harms = harmsOf(history, session)
  return {
    ...{ session, calls, final, harms },
    // A call that creates a session again purges all deleted sessions before it does so. One that was refused may have purged some of them before.
    purges: of(history.calls, 'purge', 'recreate'),
    places: new Map(final.tags.map((tag, place) => [tag, place])),
    order: new Order(final.tags, harms),
    duties: dutiesOf(harms, history),
  }
}

/** Whether a harm may have taken what a call wrote, or hidden what it read, with nothing written down: both happened at once. */
export function isUnsure(call: Call, harms: readonly Harm[]): boolean {
  return harms.some((harm) => isDuring(call, harm))
}

/** Whether a session was reported as damaged and nothing of it was shown, because its files are those of another session. */
export function isHidden({ begun, ended }: Call, { count, damaged = 0 }: Extent, harms: readonly Harm[]): boolean {
  if (count > 0 || damaged === 0) return false
  return harms.some(({ kind, from, undone }) => kind === 'swapped' && from <= ended && (undone?.to ?? Number.POSITIVE_INFINITY) >= begun)
}
