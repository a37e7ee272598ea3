/** What a fork begins with: the branch of its parent, and the archives that hold some of it. Nothing is copied but where it stands. */

import type { NoticedGap } from '../record/damage.ts'
import { archivedOf, branchTo, common, PAST, samePoint } from './branch.ts'
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
  const own = branch
    .filter(({ run }) => run !== PAST)
    .map((stretch, i, all): Past => {
      const piece = { ...stretch, session, born: state.born, end }
      // A fork of the whole session also lacks what was lost after the last message.
      const isEnd = i === all.length - 1 && samePoint(point, state.head)
      const noticed = lostIn(state, all[i - 1]?.last ?? -1, isEnd ? Number.POSITIVE_INFINITY : stretch.last)
      const [lowest] = noticed
      return lowest === undefined ? piece : { ...piece, first: Math.min(stretch.first, lowest.position), noticed }
    })
  const inherited = pastUpTo(state.past, branch.find(({ run }) => run === PAST)?.to ?? 0)
  // A session with no message on the branch may still have replaced some that it inherited.
  const none: Past = { run: PAST, from: point.n, to: point.n, first: 0, last: 0, session, born: state.born, end }
  const past = [...inherited, ...(own.length === 0 ? [none] : own)].filter(({ from, to }) => from < to || state.replaced > 0)
  // What is not summarised yet is the fork's own to summarise: nobody would tell it of the end of another session's task.
  const completed = state.archives.filter(({ status }) => status === 'completed')
  const archives = completed.flatMap((archive) => {
    const held = common(branch, archivedOf([archive])).map(({ from, to }) => ({ run: PAST, from, to, first: 0, last: 0 }))
    return held.length === 0 ? [] : [{ ...archive, session: archive.session ?? session, takes: [], covers: held }]
  })
  return {
    past,
    tokens: point.t,
    ...(archives.length > 0 ? { archives } : {}),
    ...(state.replaced > 0 ? { replaced: state.replaced } : {}),
  }
}

/** What was noticed as lost, or accepted, after one message and before another. */
function lostIn({ noticed, accepted }: SessionState, after: number, before: number): readonly NoticedGap[] {
  const known = accepted.map(({ position, to, reason }) => ({ position, to, reason }))
  return [...noticed, ...known.filter((gap) => !noticed.some(({ position }) => position === gap.position))]
    .filter(({ position }) => position > after && position < before)
    .toSorted((a, b) => a.position - b.position)
}

/** The pieces of a past, cut behind its first messages. Those that hold none of them are empty. */
export function pastUpTo(past: readonly Past[], depth: number): Past[] {
  return past.map((piece) => {
    const cut = { ...piece, from: Math.min(piece.from, depth), to: Math.min(piece.to, depth) }
    // What was lost after the last message of the piece was lost after a message that is cut off.
    return piece.noticed === undefined || piece.to <= depth
      ? cut
      : { ...cut, noticed: piece.noticed.filter(({ position }) => position < piece.last) }
  })
}
