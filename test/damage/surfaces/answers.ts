/** What a surface must answer, by what a fault does to a session. */

/**
 * What is left of a session:
 *
 *   lost       some messages cannot be read; the session can be written to
 *   copy       one of the two copies of a record cannot be read: nothing is lost
 *   title      a record that holds no message cannot be read
 *   vanished   acknowledged bytes at its end are no longer there; the rest can be read, and nothing can be appended
 *   gone       nothing is left
 *   swapped    its journal is that of another session
 */
export type Effect = 'lost' | 'copy' | 'title' | 'vanished' | 'gone' | 'swapped'

/**
 * `reports`: the answer says that something is missing. `refuses`: DAMAGED. `unaffected`: neither, for the reason that follows.
 */
type Answer = 'reports' | 'refuses' | `unaffected: ${string}`

export type Answers = Readonly<Record<Effect, Answer>>

/** What a surface was seen to do. */
export interface Seen {
  readonly reported: boolean
  readonly refused: boolean
}

const WHOLE: Answer = 'unaffected: the other copy can be read'

const every = (answer: Answer): Answers => ({
  ...{ lost: answer, title: answer, vanished: answer, gone: answer, swapped: answer },
  copy: WHOLE,
})

/** Reads a session that must at least be there. */
export const READS: Answers = { ...every('reports'), gone: 'refuses', swapped: 'refuses' }

/** Looks at all sessions, so that one of which nothing is left does not keep it from answering. */
export const LISTS: Answers = every('reports')

/** Asks for the very message that was lost. */
export const READS_THE_LOST: Answers = { ...every('refuses'), title: 'unaffected: the message is whole' }

/** Reads messages that lie before the record that the title is in. */
export const READS_EARLIER: Answers = { ...READS, title: 'unaffected: the record lies after what is read' }

const CONTINUES = 'unaffected: a session that lost a line can be written to'

export const WRITES: Answers = { lost: CONTINUES, copy: WHOLE, title: CONTINUES, vanished: 'refuses', gone: 'refuses', swapped: 'refuses' }

/** Changes the very message that was lost. */
export const WRITES_THE_LOST: Answers = { ...WRITES, lost: 'refuses' }

export const ACCEPTS: Answers = {
  ...every('reports'),
  lost: 'unaffected: nothing has vanished',
  title: 'unaffected: nothing has vanished',
  swapped: 'refuses',
}

/** Reads a session, but has no field for damage. Something else must say it. */
export function silent(why: string): Answers {
  return { ...every(`unaffected: ${why}`), gone: 'refuses', swapped: 'refuses' }
}

/** Reads no message of the session. */
export function elsewhere(why: string): Answers {
  return every(`unaffected: ${why}`)
}

/** Whether a surface changes the session, so that it must not be asked on the store that others read. */
export function isWriting(answers: Answers): boolean {
  return answers === WRITES || answers === WRITES_THE_LOST || answers === ACCEPTS
}
