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
import type { StoreParts } from '../store/parts.ts'
import type { Store } from '../store/store.ts'
import { loadedTail } from '../verify/family.ts'
import { type Finding, findingOf, type Problem } from '../verify/findings.ts'
import { lossProblem } from '../verify/loss.ts'
import { type Examined, sessionProblems } from '../verify/session-problems.ts'
import { type Owner, ownerOf } from './owner.ts'
import { Verdicts } from './verdicts.ts'
import { Verified } from './verified.ts'

export interface DoctorOptions {
  /** Only this session, of the space that the store was opened with. Otherwise all of every space: rot knows no spaces. */
  readonly session?: string
  /** All sessions of the space that the store was opened with, and nothing that belongs to the store as a whole. */
  readonly ownSpace?: boolean
  /** Only sessions that have grown since they were last found whole. Writes down, in the store, which are whole. */
  readonly sinceLast?: boolean
  /** How many sessions a second at most: so that a store in use is not slowed down. */
  readonly rate?: number
  /** Called after each session. Journals of the store itself are verified, too, and not counted. */
  readonly onProgress?: (progress: DoctorProgress) => void
}

export interface DoctorProgress {
  readonly done: number
  readonly total?: number
}

/**
 * Verifies a store, or one session of it, and changes nothing. Sessions may be in use.
 *
 * @example for await (const { kind, severity, session_id: id } of doctor(store)) console.log(severity, kind, id)
 * @throws HoldfastError NOT_FOUND if the session does not exist.
 */
export async function* doctor(
  store: Store,
  { session, ownSpace = false, rate, sinceLast = false, onProgress }: DoctorOptions = {},
): AsyncGenerator<Finding> {
  const { parts } = store
  const { engine, space } = parts
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
async function endOf({ replicas }: StoreParts, name: string): Promise<number | undefined> {
  try {
    return await replicas.once(name).replica.end()
  } catch (error) {
    problemOfError(error)
    return undefined
  }
}

/** One session. `asked`: the id of the session whose journal it must be, if the caller named one. */
async function* examine(parts: StoreParts, name: string, asked?: Owner): AsyncGenerator<Finding> {
  let tail: Tail<SessionState> | undefined
  let sealed = false
  try {
    tail = await loadedTail(parts, name)
  } catch (error) {
    const problem = problemOfError(error)
    sealed = problem.kind === 'sealed'
    yield findingOf(asked?.id ?? idOf(parts, name), problem)
  }
  const { state } = tail ?? {}
  let loss = tail?.loss
  const { id, space } = await ownerBy(parts, name, tail, asked)
  try {
    if (sealed) loss = await lossBehindKey(parts, name)
  } catch (error) {
    yield findingOf(id, problemOfError(error), space)
  }
  if (loss?.as === 'vanished') yield findingOf(id, lossProblem(loss, await parts.engine.journal(name).segments(), tail), space)
  for await (const problem of problemsOf(parts, name, { state, loss, sealed })) yield findingOf(id, problem, space)
}

/** What the engine knows to be missing of a session whose records cannot be decrypted. */
async function lossBehindKey({ engine }: StoreParts, name: string): Promise<Loss | undefined> {
  const vanished = await engine.journal(name).vanished?.()
  return vanished === undefined ? undefined : { ...vanished, as: 'vanished' }
}

/** A session of which nothing is left, or whose files are another's, has its name from its journal. One that cannot be loaded has no space. */
async function ownerBy(parts: StoreParts, name: string, tail: Tail<SessionState> | undefined, asked: Owner | undefined): Promise<Owner> {
  if (tail === undefined) return { id: asked?.id ?? idOf(parts, name), space: null }
  const { state, loss } = tail
  if (loss?.as !== 'identity' && state.id !== null) return { id: state.id, space: state.space }
  return asked ?? ownerOf(parts, name)
}

async function* problemsOf(parts: StoreParts, name: string, examined: Examined): AsyncGenerator<Problem> {
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

async function isAbsent({ engine }: StoreParts, name: string): Promise<boolean> {
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
