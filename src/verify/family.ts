/** What sessions say of one another: grants of parents, and what forks share with them. */
import type { Engine } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { isNamedIn } from '../journal/loss.ts'
import { ownJournal } from '../journal/own-journal.ts'
import { Records } from '../journal/records.ts'
import { Tail } from '../journal/tail.ts'
import type { NoticedGap } from '../record/damage.ts'
import { isAccepted } from '../session/damaged-places.ts'
import type { MessagesAppended } from '../session/records.ts'
import { sessionReducer } from '../session/reducer.ts'
import type { Past, SessionState } from '../session/state.ts'
import type { Problem } from './findings.ts'

/** Where the relatives of a session are looked for. `space`: the one of a session that does not say its own. */
export interface Surroundings {
  readonly engine: Engine
  readonly space: string
}

/** A session as its journal tells it, with what it has lost: nothing is synced, written or kept. */
export async function loadedTail({ engine }: Pick<Surroundings, 'engine'>, name: string): Promise<Tail<SessionState>> {
  const journal = engine.journal(name)
  const isNamed = isNamedIn(engine, name)
  for (;;) {
    const segments = await journal.segments()
    const tail = new Tail(journal, sessionReducer, { isNamed })
    try {
      await tail.load()
      return tail
    } catch (error) {
      // A purge may have taken segments away that were about to be read.
      const purged = (await journal.segments()).some((first, i) => first !== segments[i])
      if (!purged) throw error
    }
  }
}

export async function* checkFamily(parts: Surroundings, state: SessionState): AsyncGenerator<Problem> {
  const { id, grants, parent, past, purged } = state
  // Whoever cannot say its own name is named by nobody.
  if (id === null) return
  for (const grant of grants) {
    const created = await relative(parts, state, grant.session)
    if (created !== undefined && created.parent?.session !== id)
      yield { kind: 'dangling-grant', detail: `The session "${grant.session}" may begin from this one, but did not.` }
  }
  if (purged || past.length === 0) return
  for (const piece of past) {
    yield* checkPast(parts, state, piece)
    if (piece.noticed !== undefined) yield* checkNoticed(piece.noticed, await relative(parts, state, piece.session))
  }
  const origin = parent === null ? undefined : await relative(parts, state, parent.session)
  if (origin === undefined || origin.status === 'absent') return
  if (!origin.grants.some(({ session, kind }) => session === id && kind === 'fork')) yield { kind: 'ungranted-fork' }
}

/** What the origin had lost when the fork was made, and has not accepted since. */
function* checkNoticed(noticed: readonly NoticedGap[], origin: SessionState | undefined): Generator<Problem> {
  const open = noticed.filter(({ position, to }) => !isAccepted({ position, to }, origin?.accepted ?? []))
  if (open.length > 0) yield { kind: 'lost-past', detail: 'The other session had lost messages when this fork was made.' }
}

/** Another session of the same space; undefined if it cannot be read, which is told where it is looked at itself. */
async function relative(parts: Surroundings, { space }: SessionState, id: string): Promise<SessionState | undefined> {
  try {
    const { state, loss } = await loadedTail(parts, parts.engine.name(space ?? parts.space, id))
    return loss === undefined ? state : undefined
  } catch (error) {
    if (error instanceof HoldfastError && ['DAMAGED', 'UNREADABLE', 'UNSUPPORTED_VERSION'].includes(error.code)) return undefined
    throw error
  }
}

/** Counts the messages of a piece of the past. Along a run depths only grow, so each is counted once. */
async function* checkPast({ engine, space: own }: Surroundings, { space }: SessionState, piece: Past): AsyncGenerator<Problem> {
  const records = new Records(ownJournal(engine, engine.name(space ?? own, piece.session)))
  let depth = piece.from
  let found = 0
  let why = ''
  try {
    for await (const { record } of records.forward(piece.first, piece.last)) {
      if (record.type !== 'messages.appended') continue
      const { messages, n } = record as unknown as MessagesAppended
      const [from, to] = [Math.max(depth, n), Math.min(piece.to, n + messages.length)]
      found += Math.max(to - from, 0)
      depth = Math.max(depth, to)
    }
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
    why = ` ${error.message}`
  }
  const count = piece.to - piece.from
  if (found < count) yield { kind: 'lost-past', detail: `${count - found} of ${count} messages of "${piece.session}" are not there.${why}` }
}
