/**
 * Archives, decided. A commit is one record: from it on, what it takes is no longer live, so no later commit can take it again. What
 * comes after is about its summary only:
 *
 *     pending ──lease──▶ running ──finish──▶ completed
 *        ▲                 │ ├──fail, again──▶ pending
 *        └───retry─── failed ◀┘ └──cancel──▶ cancelled ──retry──▶ pending
 *
 * The first `commit.finished` counts; whoever comes later finds the task completed and is refused.
 */
import { HoldfastError } from '../errors.ts'
import type { Decision, Operation, Placed } from '../record/operation.ts'
import { archivedOf, branchTo, common, count, heldOf, isOn, isWhole, PAST, runOf, samePoint, without } from './branch.ts'
import { command, type Outcome, onLive, type Terms, unchanged, unless, write } from './command.ts'
import type { CommitFailed, CommitFinished, CommitLeased, CommitRequested } from './records.ts'
import { conflict, tooMany } from './refusals.ts'
import type { Archive, Point, SessionState, Stretch } from './state.ts'

/** The head on which it was chosen what a commit takes has left the branch: choose anew, or less than was to be kept may stay live. */
export class BoundaryLeft extends Error {}

/**
 * Takes everything live up to a message, which was chosen on a head. Nothing live there: nothing is written. With `still`, that must be the head still:
 * what it was chosen on may have been late, and then more than was to be kept would stay live.
 */
export function commit(terms: Terms, boundary: Point, chosenOn: Point, still = false): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    if (still && !samePoint(state.head, chosenOn)) return { refuse: new BoundaryLeft() }
    if (boundary.n === 0) return unchanged(state)
    if (!still && !isPointOn(state, branchTo(state, state.head), chosenOn)) return { refuse: new BoundaryLeft() }
    const request = requestOf(state, boundary)
    if (request === undefined) return unchanged(state)
    return unless(tooMany('archives', state.archives.length + 1), written(state, request, terms))
  })
}

/** The request, answered with the archive that it makes: nothing has to be read for that, whatever happens behind it. */
function written(state: SessionState, request: CommitRequested, terms: Terms): Decision<Outcome> {
  const { archive: number, n } = request
  const decision = write(state, 'commit.requested', request, terms)
  if (decision.write === undefined) return decision
  return { ...decision, answer: (placed: Placed) => ({ ...decision.answer(placed), archive: { number, task: placed.id, n } }) }
}

/** What a commit up to a message takes from a state; undefined if nothing is live there. */
function requestOf(state: SessionState, boundary: Point): CommitRequested | undefined {
  const upTo = branchTo(state, boundary)
  const live = without(upTo, state.held)
  if (live.length === 0) return undefined
  const takes = live.filter(({ run }) => run !== PAST)
  const covers = [...live.filter(({ run }) => run === PAST), ...(state.cut ? leftovers(state, branchTo(state, state.head), upTo) : [])]
  const archive = state.archives.reduce((highest, { number }) => Math.max(highest, number), 0) + 1
  const t = Math.max(0, boundary.t - heldTokens(state, without(upTo, covers)))
  return { archive, takes, covers, n: count(takes) + count(covers), t }
}

/** Tokens of what archives hold of some stretches. As a rule that is what they hold of the branch, which is known. */
function heldTokens(state: SessionState, stretches: readonly Stretch[]): number {
  const all = !state.cut && count(common(stretches, state.held)) === state.archived.n
  return all ? state.archived.t : heldOf(stretches, state.archives).t
}

function isPointOn(state: SessionState, branch: readonly Stretch[], { at, n }: Point): boolean {
  return isOn(branch, at === null ? PAST : (runOf(state.runs, at)?.at ?? 0), n)
}

/** Messages of archives that a revert cut: their summaries no longer hold, so another archive has to cover them. */
function leftovers(state: SessionState, branch: readonly Stretch[], upTo: readonly Stretch[]): Stretch[] {
  const whole = state.archives.filter((archive) => isWhole(archive, branch))
  const cut = state.archives.filter((archive) => !isWhole(archive, branch))
  // Taken away twice, for a message that several of them hold is covered once.
  return without(without(upTo, without(upTo, archivedOf(cut))), archivedOf(whole))
}

/** A task, by the number of its archive and the record that made it: a session that was created anew counts from one again. */
export type TaskName = Pick<Archive, 'number' | 'task'>

function onTask(
  { number, task }: Pick<Archive, 'number'> & Partial<TaskName>,
  terms: Terms,
  decide: (state: SessionState, archive: Archive) => ReturnType<typeof unchanged>,
): Operation<SessionState, Outcome> {
  return command(terms, (state) => {
    const archive = state.archives.find((one) => one.number === number && one.session === null && one.task === (task ?? one.task))
    if (state.status !== 'live' || archive === undefined) {
      return {
        refuse: new HoldfastError('NOT_FOUND', `There is no archive ${number} in this session.`, {
          details: { reason: 'no archive', archive: number },
        }),
      }
    }
    return decide(state, archive)
  })
}

/** Takes a task, or renews the lease on it. `seen` is the lease that the worker takes for expired, by its position. */
export function lease(task: string, leased: CommitLeased, seen: number | null): Operation<SessionState, Outcome> {
  const operation = onTask({ number: leased.archive, task }, {}, (state, { status, lease: held }) => {
    const open = status === 'pending' || (status === 'running' && (held?.worker === leased.worker || held?.at === seen))
    return open ? write(state, 'commit.leased', leased, {}) : { refuse: lost(status) }
  })
  // Of a machine that lost its power no worker is left that could hold it.
  return { ...operation, fleeting: true }
}

/** What came of a commit elsewhere. */
export type Adopted = Pick<
  CommitFinished,
  'task' | 'attempts' | 'abstract' | 'overview' | 'memories' | 'owner' | 'model' | 'usage' | 'requestedAt'
>

/**
 * Puts everything live up to a message into an archive that has its summary already, so that no worker ever takes it. It is one record, and
 * there is no moment in which the archive waits for a summary.
 */
export function adopt(terms: Terms, boundary: Point, adopted: Adopted): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const known = state.archives.some(({ session, task }) => session === null && task === adopted.task)
    const request = known ? undefined : requestOf(state, boundary)
    return request === undefined ? unchanged(state) : write(state, 'commit.finished', { ...request, ...adopted }, terms)
  })
}

/** Asks for an archive as it was asked for elsewhere, under the id of that task. */
export function request(terms: Terms, boundary: Point, task: string): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const known = state.archives.some((archive) => archive.session === null && archive.task === task)
    const asked = known ? undefined : requestOf(state, boundary)
    return asked === undefined ? unchanged(state) : write(state, 'commit.requested', asked, { ...terms, id: task })
  })
}

/** Ends a task that ended without a summary elsewhere, if nobody has begun it here. */
export function giveUp(
  terms: Terms,
  task: string,
  ended: { readonly attempts: number; readonly error?: CommitFailed['error'] },
): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const archive = state.archives.find(({ session, task: id }) => session === null && id === task)
    if (archive?.status !== 'pending' || archive.ended !== null) return unchanged(state)
    const { number } = archive
    if (ended.error === undefined) return write(state, 'commit.cancelled', { archive: number }, terms)
    const failed: CommitFailed = { archive: number, attempts: ended.attempts, error: ended.error, again: false, waitMs: 0 }
    return write(state, 'commit.failed', failed, terms)
  })
}

/** `erased`: as it was when the messages were read. What was made from a message that was erased since is not kept. */
export function finish(finished: CommitFinished, erased?: number): Operation<SessionState, Outcome> {
  return onTask({ number: finished.archive, task: finished.task }, {}, (state, archive) =>
    (archive.status === 'pending' || archive.status === 'running') && archive.erased === erased
      ? write(state, 'commit.finished', finished, {})
      : { refuse: lost(archive.status) },
  )
}

/** Only who holds the task can fail it. */
export function fail(task: string, failed: CommitFailed, worker: string): Operation<SessionState, Outcome> {
  return onTask({ number: failed.archive, task }, {}, (state, { status, lease: held }) =>
    status === 'running' && held?.worker === worker ? write(state, 'commit.failed', failed, {}) : { refuse: lost(status) },
  )
}

/** The archive stays, without a summary; its messages stay readable and in the window. */
export function cancel(terms: Terms, task: TaskName): Operation<SessionState, Outcome> {
  return onTask(task, terms, (state, { status }) => {
    if (status === 'cancelled') return unchanged(state)
    if (status === 'completed' || status === 'failed') return { refuse: ended(status) }
    return write(state, 'commit.cancelled', { archive: task.number }, terms)
  })
}

/** Lets a task that failed or was cancelled begin again. */
export function retry(task: TaskName): Operation<SessionState, Outcome> {
  return onTask(task, {}, (state, { status }) => {
    if (status === 'completed') return { refuse: ended(status) }
    if (status === 'pending' || status === 'running') return unchanged(state)
    const again: CommitFailed = {
      archive: task.number,
      attempts: 0,
      error: { code: 'RETRIED', message: 'It was asked for again.' },
      again: true,
      waitMs: 0,
    }
    return write(state, 'commit.failed', again, {})
  })
}

export function retract(terms: Terms, number: number): Operation<SessionState, Outcome> {
  return onTask({ number }, terms, (state, { status, retracted }) => {
    if (retracted) return unchanged(state)
    if (status !== 'completed')
      return {
        refuse: conflict(`Archive ${number} has no memories: its task is ${status}.`, { reason: 'not completed', archive: number, status }),
      }
    return write(state, 'memories.retracted', { archive: number }, terms)
  })
}

function lost(status: string): HoldfastError {
  return conflict(`The task is ${status} by now; somebody else works on it, or it has ended.`, { reason: 'lease', status })
}

function ended(status: string): HoldfastError {
  return conflict(`The task is ${status} already.`, { reason: 'ended', status })
}
