/** What a surface must answer, by what a fault does to a session. */

/**
 * What is left of a session:
 *
 *   lost       some messages cannot be read; the session can be written to
 *   early      the same, but only messages that an archive holds, in a segment before the last checkpoint
 *   first      the same, with the first message of the session, which every window asks for
 *   copy       one of the two copies of a record cannot be read: nothing is lost
 *   change     a record that holds no message cannot be read: a title, an entry, or a replacement
 *   vanished   acknowledged bytes at its end are no longer there; the rest can be read, and nothing can be appended
 *   beheaded   the same, but at its beginning
 *   gone       nothing is left
 *   rowless    nothing can be read, but nothing is lost: in a database, the row of the session is not there
 *   swapped    its journal is that of another session
 */
export type Effect = 'lost' | 'early' | 'first' | 'copy' | 'change' | 'vanished' | 'beheaded' | 'gone' | 'rowless' | 'swapped'

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
  ...{ lost: answer, early: answer, first: answer, change: answer, vanished: answer, beheaded: answer },
  ...{ gone: answer, rowless: answer, swapped: answer },
  copy: WHOLE,
})

/** Reads a session that must at least be there. */
export const READS: Answers = { ...every('reports'), gone: 'refuses', rowless: 'refuses', swapped: 'refuses' }

/** Looks at all sessions, so that one of which nothing is left does not keep it from answering. */
export const LISTS: Answers = every('reports')

/** Lists what is damaged in one session. That the files are those of another session, or that nothing is left, is such a thing. */
export const READS_DAMAGE: Answers = every('reports')

const CHECKPOINTED = 'unaffected: a later checkpoint has all that is read'

/** Reads the state, or what is live. Both are whole after a checkpoint: only lists and the doctor, which have read everything, report the rest. */
export const READS_STATE: Answers = { ...READS, early: CHECKPOINTED, first: CHECKPOINTED }

/** Reads what is live, and the first message: it may be a system message, which every window has. */
export const READS_WINDOW: Answers = { ...READS, early: CHECKPOINTED }

/** Reads the last turn. */
export const READS_TURN: Answers = {
  ...READS_STATE,
  lost: 'unaffected: the last turn is whole',
  change: 'unaffected: the last turn is whole',
}

/** Asks for a thing that was written near the end. */
export const READS_LATE: Answers = { ...READS, vanished: 'refuses' }

/** Asks for the record of the very message that was lost. */
export const READS_THE_LOST: Answers = { ...every('refuses'), change: 'unaffected: the record holds the message as it was appended' }

/** Asks for its content, which a record that is lost may have changed. */
export const READS_CONTENT: Answers = { ...READS_THE_LOST, change: 'reports' }

const PUT_LATER = 'unaffected: the entry was put after what is lost'

/** Reads an entry that was put before the late message, and again after it. */
export const READS_ENTRY: Answers = { ...READS_LATE, lost: PUT_LATER, early: PUT_LATER, first: PUT_LATER, beheaded: PUT_LATER }

/** Names sessions whose owner cannot be known. */
export const READS_OWNER: Answers = { ...LISTS, early: CHECKPOINTED, first: CHECKPOINTED }

/** Reads messages that lie before the changes, and before what vanished at the end. */
export const READS_EARLIER: Answers = {
  ...READS,
  change: 'unaffected: the record lies after what is read',
  vanished: 'unaffected: what vanished lies after what is read',
}

const CONTINUES = 'unaffected: a session that lost a line can be written to'

export const WRITES: Answers = { ...every('refuses'), lost: CONTINUES, early: CONTINUES, first: CONTINUES, change: CONTINUES }

/** Changes the very message that was lost. */
export const WRITES_THE_LOST: Answers = { ...WRITES, lost: 'refuses', early: 'refuses', first: 'refuses' }

/** Compares that message with what was read of it before. */
export const WRITES_COMPARED: Answers = { ...WRITES_THE_LOST, change: 'refuses' }

export const ACCEPTS: Answers = {
  ...every('reports'),
  rowless: 'unaffected: the row is made again, and nothing is lost',
  swapped: 'refuses',
}

/** Reads a session, but has no field for damage. Something else must say it. */
export function silent(why: string): Answers {
  return { ...every(`unaffected: ${why}`), gone: 'refuses', rowless: 'refuses', swapped: 'refuses' }
}

/** Reads no message of the session. */
export function elsewhere(why: string): Answers {
  return every(`unaffected: ${why}`)
}

/** Which store a surface is asked on. One that accepts damage must not be asked on the store where others are refused for it. */
export function storeFor(answers: Answers): 'reading' | 'writing' | 'accepting' {
  if (answers === ACCEPTS) return 'accepting'
  return answers === WRITES || answers === WRITES_THE_LOST ? 'writing' : 'reading'
}
