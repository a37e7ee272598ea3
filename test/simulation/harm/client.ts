/** A client in a run with harms: what it wants, what it was told, and when. */
import { HoldfastError } from '../../../src/errors.ts'
import type { Loss } from '../../../src/journal/loss.ts'
import type { Replica } from '../../../src/journal/replica.ts'
import { hashKey } from '../../../src/record/key-hash.ts'
import type { Operation } from '../../../src/record/operation.ts'
import type { Seen } from './reducer.ts'

/** `lease`: a record that is acknowledged before it is durable. `close`: a process ends as it should. */
export type Kind = 'append' | 'read' | 'create' | 'delete' | 'purge' | 'lease' | 'accept' | 'close'

/** `accepted`: this attempt accepted a loss. `nothing`: there was none to accept. */
type Told = 'done' | 'duplicate' | 'read' | 'accepted' | 'nothing' | 'refused' | 'none' | 'unknown' | 'died'

export interface Wish {
  readonly key: string
  readonly kind: Kind
  readonly journal: number
  readonly session: string
  readonly text: string
}

export interface Known {
  readonly segment: number
  readonly end: number
  readonly step: number
}

export interface Attempt extends Wish {
  /** Is in the record that this attempt writes, and in no other. */
  readonly name: string
  /** A store that was restored from a copy starts another life. */
  readonly life: number
  /** When the process started. */
  readonly started: number
  readonly begun: number
  /** How far this process had read the journal when its last attempt ended. */
  readonly knew: Known | undefined
  ended: number
  told: Told
  at: number
  /** What a read was shown. */
  saw?: Seen
  /** The loss that this process knows of at the end. */
  loss: Loss | undefined
  error: unknown
}

const ABSENT = new HoldfastError('NOT_FOUND', 'There is no such session.')
const EXISTS = new HoldfastError('ALREADY_EXISTS', 'There is such a session.')

const TYPES = {
  append: 'messages.appended',
  create: 'session.created',
  delete: 'session.deleted',
  lease: 'commit.leased',
} as const

type Answer = Pick<Attempt, 'told' | 'at' | 'saw'>

function operationFor(attempt: Attempt): Operation<Seen, Answer> {
  const { kind, name, text, session } = attempt
  if (!(kind in TYPES)) return { readOnly: true, decide: (saw) => ({ answer: { told: 'read', at: -1, saw } }) }
  const key = hashKey('operation', attempt.key)
  return {
    keys: [key],
    ...(kind === 'lease' ? { fleeting: true } : {}),
    ...(kind === 'delete' ? { urgent: true } : {}),
    decide: (seen, known) => {
      const first = known(key)
      if (first !== undefined) return { answer: { told: 'duplicate', at: first.at } }
      if (kind === 'create' && seen.alive) return { refuse: EXISTS }
      if (kind !== 'create' && !seen.alive) return { refuse: ABSENT }
      return {
        ...(kind === 'create' ? ({ opens: 'new incarnation' } as const) : {}),
        write: { type: TYPES[kind as keyof typeof TYPES], payload: { key: attempt.key, attempt: name, text, session } },
        answer: ({ at }) => ({ told: 'done', at }),
      }
    },
  }
}

/** Makes one attempt and notes what it was told. `died` settles when the process dies. */
export async function attemptWith(replica: Replica<Seen>, attempt: Attempt, died: Promise<void>, step: () => number): Promise<void> {
  const work = attempt.kind === 'accept' ? acceptWith(replica, attempt) : replica.submit(operationFor(attempt))
  const heard = work.then(
    (answer): Partial<Attempt> => answer,
    (error: unknown): Partial<Attempt> => ({ told: toldBy(error), error }),
  )
  Object.assign(attempt, await Promise.race([heard, died.then((): Partial<Attempt> => ({ told: 'died' }))]))
  attempt.ended = step()
  attempt.loss = replica.loss
}

async function acceptWith(replica: Replica<Seen>, { session, name }: Attempt): Promise<Answer> {
  const loss = await replica.accept(({ count }, { from, to }) => ({
    type: 'damage.acknowledged',
    payload: { attempt: name, session, lost_from: from, lost_to: to, left: count },
  }))
  return { told: loss === undefined ? 'nothing' : 'accepted', at: -1 }
}

function toldBy(error: unknown): Told {
  if (error === ABSENT || error === EXISTS) return 'refused'
  return error instanceof HoldfastError ? error.outcome : 'unknown'
}

/** Whether an attempt was told that bytes are lost. */
export function isAlarm({ error, loss, told }: Attempt): boolean {
  if (error instanceof HoldfastError && error.code === 'DAMAGED') return true
  return told === 'read' && loss !== undefined
}
