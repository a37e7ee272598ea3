/** What sessions say of one another: grants of parents, and what forks share with them. */
import type { Engine } from '../engine/port.ts'
import type { NoticedGap } from '../record/damage.ts'
import { isAccepted } from '../session/damaged-places.ts'
import type { Past, SessionState } from '../session/state.ts'
import type { Problem } from './findings.ts'
import { type Relative, Relatives } from './relatives.ts'

/** Where the relatives of a session are looked for. `space`: the one of a session that does not say its own. */
export interface Surroundings {
  readonly engine: Engine
  readonly space: string
  /** What is known of them. Defaults to nothing; who checks many sessions hands in the same for all. */
  readonly relatives?: Relatives
}

export async function* checkFamily(parts: Surroundings, state: SessionState): AsyncGenerator<Problem> {
  const { id, grants, parent, past, purged } = state
  // No other session names one that cannot say its own name.
  if (id === null) return
  const relatives = parts.relatives ?? new Relatives(parts.engine)
  const space = state.space ?? parts.space
  for (const grant of grants) {
    const isMade = (created: Relative | undefined): boolean => created === undefined || created.parent === id
    if (!isMade(await relatives.of(space, grant.session, isMade)))
      yield { kind: 'dangling-grant', detail: `The session "${grant.session}" may begin from this one, but did not.` }
  }
  if (purged || past.length === 0) return
  for (const piece of past) {
    if (!relatives.isRead(space, piece)) yield* checkPast(relatives, space, piece)
    if (piece.noticed !== undefined) yield* checkNoticed(relatives, space, piece.session, piece.noticed)
  }
  if (parent === null) return
  const isGranted = (origin: Relative | undefined): boolean => origin === undefined || origin.status === 'absent' || origin.forks.has(id)
  if (!isGranted(await relatives.of(space, parent.session, isGranted))) yield { kind: 'ungranted-fork' }
}

/** What the origin had lost when the fork was made, and has not accepted since. */
async function* checkNoticed(
  relatives: Relatives,
  space: string,
  session: string,
  noticed: readonly NoticedGap[],
): AsyncGenerator<Problem> {
  const accepts = (origin: Relative | undefined): boolean =>
    noticed.every(({ position, to }) => isAccepted({ position, to }, origin?.accepted ?? []))
  if (!accepts(await relatives.of(space, session, accepts)))
    yield { kind: 'lost-past', detail: 'The other session had lost messages when this fork was made.' }
}

async function* checkPast(relatives: Relatives, space: string, piece: Past): AsyncGenerator<Problem> {
  const { count, why } = await relatives.missing(space, piece)
  if (count > 0)
    yield { kind: 'lost-past', detail: `${count} of ${piece.to - piece.from} messages of "${piece.session}" are not there.${why}` }
}
