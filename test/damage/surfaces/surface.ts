/** One surface: its name, what it must answer, and how it is asked. */
import type { Answers, Seen } from './answers.ts'
import type { Damaged, Opened } from './place.ts'

export interface Surface {
  readonly name: string
  readonly answers: Answers
  /** Asked in the order of the table, all on one store, so that what writes does not disturb what reads. */
  readonly on: 'reading' | 'searching' | 'writing' | 'accepting' | 'commands'
  /** Left out where nothing can be asked that would read a session. */
  readonly ask?: (opened: Opened) => Promise<Seen>
  /** For commands, which open the store themselves. */
  readonly run?: (damaged: Damaged) => Promise<Seen>
}

/** What a call did, by how it ended. */
export async function seen<T>(call: () => Promise<T>, reports: (result: T) => boolean): Promise<Seen> {
  try {
    return { reported: reports(await call()), refused: false }
  } catch (error) {
    return refusedWith((error as { readonly code?: string }).code)
  }
}

/** A question that is wrong in itself shows nothing, whatever the answer. */
export function refusedWith(code: string | undefined): Seen {
  if (code === undefined || code === 'INVALID_ARGUMENT' || code === 'INTERNAL') throw new Error(`The question was answered with ${code}.`)
  return { reported: false, refused: code === 'DAMAGED' }
}
