/** Erasing messages, decided: what is to be written over is found out before, on a state that must still hold. */
import { hashKey } from '../record/key-hash.ts'
import type { Operation } from '../record/operation.ts'
import { command, type Outcome, type Terms, unchanged, write } from './command.ts'
import type { Keyed, MessageErased } from './records.ts'
import { notFound, replacedMeanwhile } from './refusals.ts'
import type { SessionState } from './state.ts'

/**
 * Erases a message, also of a deleted session: what was read of it must be the newest still. `prior` is the last record of this session that
 * replaced it, `read` the state by which it was found out what was made from it.
 */
export function erase(
  terms: Terms,
  erased: Omit<MessageErased, keyof Keyed | 'done'>,
  { prior, read }: { readonly prior: number | null; readonly read: SessionState },
): Operation<SessionState, Outcome> {
  const key = hashKey('replacement', erased.target)
  return command(
    terms,
    (state, known) => {
      if (state.status === 'absent' || state.purged) return { refuse: notFound(state) }
      // One after the other: each tells what the lines were that it writes over.
      const isSame = state.erasing.length === 0 && state.erased === read.erased && endsOf(state) === endsOf(read)
      const isNewest = isSame && (known(key)?.at ?? null) === prior
      return isNewest ? write(state, 'message.erased', erased, terms) : { refuse: replacedMeanwhile(erased.target, 'replaced meanwhile') }
    },
    { keys: [key], urgent: true },
  )
}

/** Which archives there are, and what came of them. */
function endsOf({ archives }: SessionState): string {
  return archives.map(({ number, ended }) => `${number} ${ended}`).join()
}

/** Everything that an erasure asked for was done. */
export function endErasure(
  position: number,
  { target, role, keeps, ends }: Pick<MessageErased, 'target' | 'role' | 'keeps' | 'ends'>,
): Operation<SessionState, Outcome> {
  const outlived = { ...(keeps === undefined ? {} : { keeps }), ...(ends === undefined ? {} : { ends }) }
  const payload: MessageErased = { target, role, lines: [], archives: [], dropped: [], ...outlived, done: position }
  return command({}, (state) => (state.erasing.includes(position) ? write(state, 'message.erased', payload, {}) : unchanged(state)), {
    urgent: true,
  })
}
