/**
 * The doctor: looks at every byte of a store, tells what is wrong and what a person can do, and changes nothing. Its memory does not grow with
 * the store: sessions are looked at one after the other, each a piece of a segment at a time.
 */

import { isKeyMissing } from '../encryption/master-key.ts'
import { isStoresOwn } from '../engine/names.ts'
import type { Oddity } from '../engine/port.ts'
import { idOf } from '../engine/session-id-of.ts'
import { HoldfastError } from '../errors.ts'
import type { Loss } from '../journal/loss.ts'
import type { Tail } from '../journal/tail.ts'
import { checkId } from '../session/check.ts'
import { absent } from '../session/refusals.ts'
import type { SessionState } from '../session/state.ts'
import { isHalfPurged } from '../store/lifecycle/purge.ts'
import type { SessionParts, StoreParts } from '../store/parts.ts'
import { partsOf, type Store } from '../store/store.ts'
import { type Finding, findingOf, type Problem } from '../verify/findings.ts'
import { loadedTail } from '../verify/loaded-tail.ts'
import { lossProblem } from '../verify/loss.ts'
import { Relatives } from '../verify/relatives.ts'
import { type Examined, sessionProblems } from '../verify/session-problems.ts'
import { type Owner, ownerOf } from './owner.ts'
import { PacedEngine } from './paced-engine.ts'
import { untilAborted } from './until-aborted.ts'
import { Verdicts } from './verdicts.ts'
import { Verified } from './verified.ts'

export interface DoctorOptions {
  /** The session to verify, in the space of the store. Defaults to all sessions of all spaces. */
  readonly session?: string
  /** Verifies only the sessions of the space of the store. Defaults to false. */
  readonly ownSpace?: boolean
  /** Skips sessions that have not grown since they were last found whole. Keeps a list of those in the store. Defaults to false. */
  readonly sinceLast?: boolean
  /** The largest number of sessions a second, so that a store in use is not slowed down. Defaults to no limit. */
  readonly rate?: number
  /** Ends the check within a second: the iteration throws the reason of the signal. Defaults to none. */
  readonly signal?: AbortSignal
  /** Called after each session. Journals of the store itself are verified, too, and not counted. */
  readonly onProgress?: (progress: DoctorProgress) => void
}

/** The parts of a store, with what is known of its sessions so far. */
type CheckedParts = StoreParts & { readonly relatives: Relatives }

export interface DoctorProgress {
  readonly done: number
  readonly total?: number
}

/**
 * Verifies every byte of a store, or of one session, and changes nothing. Sessions may be in use.
 *
 * @param options `session` defaults to all sessions of all spaces. `rate` defaults to no limit. `sinceLast` and `ownSpace` default to false.
 * @returns What is wrong, and what to do about it.
 * @throws HoldfastError NOT_FOUND when there is no such session.
 * @example
 * for await (const { kind, severity, session } of doctor(store)) console.log(severity, kind, session)
 */
export async function* doctor(store: Store, options: DoctorOptions = {}): AsyncGenerator<Finding> {
  yield* untilAborted(findings(partsOf(store, '`store.doctor()`'), options), options.signal)
}

async function* findings(
  { engine: unpaced, ...others }: StoreParts,
  { session, ownSpace = false, rate, sinceLast = false, signal, onProgress }: DoctorOptions,
): AsyncGenerator<Finding> {
  const engine = new PacedEngine(unpaced, others.clock, signal)
  const parts: CheckedParts = { ...others, engine, relatives: new Relatives(engine) }
  const { space } = parts
  if (session !== undefined) {
    const name = engine.name(space, checkId('The id of a session', session))
    if (await isAbsent(parts, name)) throw absent(session)
    const verdicts = new Verdicts(parts)
    yield* verdicts.of(name, examine(parts, name, { id: session, space }))
    await verdicts.tell()
    onProgress?.({ done: 1, total: 1 })
    return
  }
  const names = (): AsyncIterable<string> => engine.names(ownSpace ? space : undefined)
  let total = 0
  if (onProgress !== undefined) for await (const name of names()) if (!isStoresOwn(name)) total++
  let done = 0
  const verified = sinceLast ? new Verified(parts) : undefined
  await verified?.load()
  const verdicts = new Verdicts(parts)
  try {
    for await (const name of names()) {
      await engine.pause()
      const end = verified === undefined ? undefined : await endOf(parts, name)
      if (end === undefined || verified?.isOld(name, end) === true) {
        const whole = yield* verdicts.of(name, examine(parts, name))
        if (whole && end !== undefined) await verified?.add(name, end)
        if (rate !== undefined) await parts.clock.sleep(1000 / rate)
      }
      if (!isStoresOwn(name)) onProgress?.({ done: ++done, total: Math.max(total, done) })
    }
  } finally {
    await verdicts.tell()
  }
  await verified?.save()
  if (engine.inspect === undefined || ownSpace) return
  for await (const oddity of engine.inspect()) yield findingOf('', problemOf(oddity))
}

/** Where a journal ends; undefined if that cannot be told, and it has to be looked at. */
async function endOf({ replicas }: Pick<StoreParts, 'replicas'>, name: string): Promise<number | undefined> {
  try {
    return await replicas.once(name).replica.end()
  } catch (error) {
    problemOfError(error)
    return undefined
  }
}

/** One session. `asked`: the id of the session whose journal it must be, if the caller named one. */
async function* examine(parts: CheckedParts, name: string, asked?: Owner): AsyncGenerator<Finding> {
  let tail: Tail<SessionState> | undefined
  let encrypted = false
  try {
    tail = await loadedTail(parts, name)
  } catch (error) {
    const problem = problemOfError(error)
    encrypted = problem.kind === 'sealed'
    yield findingOf(asked?.id ?? idOf(parts, name), problem)
  }
  const { state } = tail ?? {}
  let loss = tail?.loss
  const { id, space } = await ownerBy(parts, name, tail, asked)
  try {
    if (encrypted) loss = await lossBehindKey(parts, name)
  } catch (error) {
    yield findingOf(id, problemOfError(error), space)
  }
  if (loss?.as === 'vanished') yield findingOf(id, lossProblem(loss, await parts.engine.journal(name).segments(), tail), space)
  for await (const problem of problemsOf(parts, name, { state, loss, encrypted })) yield findingOf(id, problem, space)
}

/** What the engine knows to be missing of a session whose records cannot be decrypted. */
async function lossBehindKey({ engine }: Pick<StoreParts, 'engine'>, name: string): Promise<Loss | undefined> {
  const vanished = await engine.journal(name).vanished?.()
  return vanished === undefined ? undefined : { ...vanished, as: 'vanished' }
}

/** A session of which nothing is left, or whose files are another's, has its name from its journal. One that cannot be loaded has no space. */
async function ownerBy(parts: SessionParts, name: string, tail: Tail<SessionState> | undefined, asked: Owner | undefined): Promise<Owner> {
  if (tail === undefined) return { id: asked?.id ?? idOf(parts, name), space: null }
  const { state, loss } = tail
  if (loss?.as !== 'identity' && state.id !== null) return { id: state.id, space: state.space }
  return asked ?? ownerOf(parts, name)
}

async function* problemsOf(
  parts: Pick<CheckedParts, 'engine' | 'space' | 'relatives'>,
  name: string,
  examined: Examined,
): AsyncGenerator<Problem> {
  const { state } = examined
  const { engine } = parts
  const journal = engine.journal(name)
  let isLate = false
  try {
    for await (const problem of sessionProblems(parts, journal, examined)) {
      isLate ||= problem.kind === 'late-segment'
      yield problem
    }
    if (state !== undefined && state.status !== 'absent' && !isLate && (await isHalfPurged(journal, state)))
      yield { kind: 'unfinished-purge' }
    if (engine.inspect === undefined) return
    for await (const oddity of engine.inspect(name)) yield problemOf(oddity)
  } catch (error) {
    const problem = problemOfError(error)
    // A session that cannot be loaded has been reported.
    if (state !== undefined) yield problem
  }
}

async function isAbsent({ engine }: Pick<StoreParts, 'engine'>, name: string): Promise<boolean> {
  try {
    const journal = engine.journal(name)
    return (await journal.segments()).length === 0 && (await journal.vanished?.()) === undefined
  } catch (error) {
    problemOfError(error)
    return false
  }
}

function problemOf({ kind, segment, file }: Oddity): Problem {
  const detail = kind === 'no-watermarks' ? undefined : `The file is ${file}.`
  return { kind, place: segment === undefined ? undefined : { segment }, detail }
}

/** What an error tells of the session that was looked at. Other errors are not the session's. */
function problemOfError(error: unknown): Problem {
  if (error instanceof HoldfastError && isKeyMissing(error)) return { kind: 'sealed', detail: error.message }
  if (error instanceof HoldfastError && error.code === 'UNSUPPORTED_VERSION') return { kind: 'newer-version', detail: error.message }
  if (error instanceof HoldfastError && (error.code === 'UNREADABLE' || error.code === 'DAMAGED'))
    return { kind: 'unreadable', detail: error.message }
  throw error
}
