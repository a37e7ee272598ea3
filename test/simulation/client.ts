/**
 * A client of simulated processes: it wants things done, tries again under the same key when it does not know what happened, and
 * remembers everything that it was told. It lives outside of the processes, so it survives them.
 */
import { HoldfastError } from '../../src/errors.ts'
import type { Replica } from '../../src/journal/replica.ts'
import { hashKey } from '../../src/record/key-hash.ts'
import type { Operation } from '../../src/record/operation.ts'
import type { Seen } from './reducer.ts'

export type Kind = 'append' | 'append if' | 'create' | 'delete' | 'read' | 'purge'

/** `done`: a record of this attempt stands at `at`. `duplicate`: an earlier attempt's does. `none`: it failed, and left nothing. */
type Told = 'done' | 'duplicate' | 'refused' | 'none' | 'unknown' | 'died' | 'read'

export interface Attempt {
  /** Stands in the record that this attempt writes, and in no other. */
  readonly name: string
  readonly wish: string
  readonly kind: Kind
  readonly journal: number
  readonly process: string
  readonly begun: number
  ended: number
  told: Told
  at: number
  /** What was seen when it was decided. */
  seen: Seen | undefined
  expected: number | undefined
  error: unknown
  /** The error was none of ours. */
  crashed?: boolean
}

interface Answer {
  readonly told: 'done' | 'duplicate' | 'read'
  readonly at: number
  readonly seen: Seen
}

export interface Wish {
  readonly name: string
  readonly kind: Kind
  readonly journal: number
  readonly text: string
}

const ABSENT = new HoldfastError('NOT_FOUND', 'There is no such session.')
const EXISTS = new HoldfastError('ALREADY_EXISTS', 'There is such a session.')
const NOT_EXPECTED = new HoldfastError('CONFLICT', 'Somebody wrote in between.')

/** The operation that fulfils a wish. `expected` is the count that an `append if` wants to meet. */
function operationFor(wish: Wish, attempt: string, expected: number | undefined): Operation<Seen, Answer> {
  const key = hashKey('operation', wish.name)
  const payload = { key: wish.name, attempt, text: wish.text, ...(expected === undefined ? {} : { expected }) }
  if (wish.kind === 'read' || wish.kind === 'purge')
    return { readOnly: true, decide: (seen) => ({ answer: { told: 'read', at: -1, seen } }) }
  const type = wish.kind === 'create' ? 'session.created' : wish.kind === 'delete' ? 'session.deleted' : 'messages.appended'
  return {
    keys: [key],
    ...(wish.kind === 'delete' ? { urgent: true } : {}),
    decide: (seen, known) => {
      const first = known(key)
      if (first !== undefined) return { answer: { told: 'duplicate', at: first.at, seen } }
      if (wish.kind === 'create' && seen.alive) return { refuse: EXISTS }
      if (wish.kind !== 'create' && !seen.alive) return { refuse: ABSENT }
      if (expected !== undefined && seen.count !== expected) return { refuse: NOT_EXPECTED }
      const opens = wish.kind === 'create' ? ({ opens: 'new incarnation' } as const) : {}
      return {
        ...opens,
        write: { type, payload: { ...payload, saw: seen.count, life: seen.born } },
        answer: ({ at }) => ({ told: 'done', at, seen }),
      }
    },
  }
}

/** Makes one attempt and writes down what it was told. `died` settles when the process dies. */
export async function attemptWith(
  replica: Replica<Seen>,
  wish: Wish,
  attempt: Attempt,
  died: Promise<void>,
  step: () => number,
): Promise<void> {
  const operation = operationFor(wish, attempt.name, attempt.expected)
  const submitted = replica.submit(operation).then(
    (answer): Partial<Attempt> => answer,
    (error: unknown): Partial<Attempt> => {
      if (error === ABSENT || error === EXISTS || error === NOT_EXPECTED) return { told: 'refused', error }
      if (error instanceof HoldfastError) return { told: error.outcome, error }
      return { told: 'unknown', error, crashed: true }
    },
  )
  Object.assign(attempt, await Promise.race([submitted, died.then((): Partial<Attempt> => ({ told: 'died' }))]))
  attempt.ended = step()
}
