/** What a fork begins with: the branch of its parent, and the archives that hold some of it. Nothing is copied but where it stands. */
import { archivedOf, branchTo, common, PAST } from './branch.ts'
import type { SessionCreated } from './records.ts'
import type { Past, Point, SessionState } from './state.ts'

/** The part of `session.created` that makes a session a fork of another one, at a point of it. */
export function inheritedFrom(
  session: string,
  state: SessionState,
  point: Point,
): Pick<SessionCreated, 'past' | 'tokens' | 'archives' | 'replaced'> {
  const branch = branchTo(state, point)
  const end = Number.parseInt(state.version, 10)
  const past = branch.flatMap((stretch): Past[] =>
    stretch.run === PAST ? pastUpTo(state.past, stretch.to) : [{ ...stretch, session, born: state.born, end }],
  )
  const archives = state.archives.flatMap((archive) => {
    const held = common(branch, archivedOf({ archives: [archive] })).map(({ from, to }) => ({ run: PAST, from, to, first: 0, last: 0 }))
    return held.length === 0 ? [] : [{ ...archive, session: archive.session ?? session, takes: [], covers: held }]
  })
  return {
    past,
    tokens: point.t,
    ...(archives.length > 0 ? { archives } : {}),
    ...(state.replaced > 0 ? { replaced: state.replaced } : {}),
  }
}

/** The pieces of a past that hold its first messages. */
export function pastUpTo(past: readonly Past[], depth: number): Past[] {
  return past.filter(({ from }) => from < depth).map((piece) => ({ ...piece, to: Math.min(piece.to, depth) }))
}
