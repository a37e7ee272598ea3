/** A harm that a schedule asks for, whoever can do it, and how it is written down. */
import type { Harm, HarmKind } from './harms.ts'
import type { RecordLine } from './journal-lines.ts'

/** Numbers are parts of one. */
export interface HarmOrder {
  readonly harm: HarmKind
  /** Which session, and where in it. */
  readonly which: number
  readonly where: number
  readonly how: number
  /** How old a copy is that is put in place, or how long two sessions stay swapped. */
  readonly forMs: number
}

/** Does harm to the bytes of a store, and writes it down. */
export interface Harmer {
  readonly kinds: readonly HarmKind[]
  /** Two sessions are in each other's place. */
  readonly isSwapped: boolean
  /** Whether a session has anything that can be harmed. */
  has(session: string): Promise<boolean>
  /** False if there was nothing to do it to. `other` is another session, to swap with. */
  harm(session: string, other: string | undefined, order: HarmOrder): Promise<boolean>
}

/** `start` is where the last segment begins that is left: one that begins after all records is an end, though it holds none. */
export function harmOf(
  kind: HarmKind,
  session: string,
  { from, to }: { readonly from: number; readonly to: number },
  before: readonly RecordLine[],
  { records: after, start }: { readonly records: readonly RecordLine[]; readonly start: number },
): Harm {
  const left = new Set(after.map(({ id }) => id))
  const taken = before.filter(({ id }) => !left.has(id))
  const last = before.at(-1)
  return {
    ...{ kind, session, from, to },
    before: before.flatMap(({ tags }) => tags),
    lost: taken.flatMap(({ tags }) => tags),
    titles: taken.flatMap(({ title }) => (title === undefined ? [] : [title])),
    archives: taken.flatMap(({ archive }) => (archive === undefined ? [] : [archive])),
    isTail: last !== undefined && !left.has(last.id) && start <= last.at,
  }
}
