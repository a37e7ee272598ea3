/**
 * The doctor: looks at every byte of a store, tells what is wrong and what a person can do, and changes nothing. Its memory does not grow with
 * the store: sessions are looked at one after the other, each a piece of a segment at a time.
 */
import type { Oddity } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { checkId } from '../session/check.ts'
import type { SessionState } from '../session/state.ts'
import { idOf } from '../store/identity.ts'
import type { StoreParts } from '../store/parts.ts'
import type { Store } from '../store/store.ts'
import { checkFamily, stateOf } from './family.ts'
import { type Finding, findingOf, type Problem } from './findings.ts'
import { LineCheck } from './lines.ts'

export interface DoctorOptions {
  /** Only this session, of the space that the store was opened with. Otherwise all of every space: rot knows no spaces. */
  readonly session?: string
  /** All sessions of the space that the store was opened with, and nothing that belongs to the store as a whole. */
  readonly ownSpace?: boolean
  /** Called after each session. */
  readonly onProgress?: (progress: DoctorProgress) => void
}

export interface DoctorProgress {
  readonly done: number
  readonly total?: number
}

/** Verifies a store, or one session of it. Sessions may be used meanwhile. NOT_FOUND if the session does not exist. */
export async function* doctor(store: Store, { session, ownSpace = false, onProgress }: DoctorOptions = {}): AsyncGenerator<Finding> {
  const { parts } = store
  const { engine, space } = parts
  if (session !== undefined) {
    const name = engine.name(space, checkId('The id of a session', session))
    if (await isAbsent(parts, name)) throw new HoldfastError('NOT_FOUND', 'There is no such session.', { details: { session_id: session } })
    yield* examine(parts, name, session)
    onProgress?.({ done: 1, total: 1 })
    return
  }
  const names = (): AsyncIterable<string> => engine.names(ownSpace ? space : undefined)
  let total = 0
  if (onProgress !== undefined) for await (const _ of names()) total++
  let done = 0
  for await (const name of names()) {
    yield* examine(parts, name, idOf(parts, name))
    done++
    onProgress?.({ done, total: Math.max(total, done) })
  }
  if (engine.inspect === undefined || ownSpace) return
  for await (const oddity of engine.inspect()) yield findingOf('', problemOf(oddity))
}

/** One session. `id` is what it is called if it cannot tell. */
async function* examine(parts: StoreParts, name: string, id: string): AsyncGenerator<Finding> {
  let state: SessionState | undefined
  try {
    state = await stateOf(parts, name)
  } catch (error) {
    yield findingOf(id, problemOfError(error))
  }
  const known = state?.id ?? id
  for await (const problem of problemsOf(parts, name, state)) yield findingOf(known, problem)
}

async function* problemsOf(parts: StoreParts, name: string, state: SessionState | undefined): AsyncGenerator<Problem> {
  const { engine } = parts
  try {
    yield* new LineCheck(engine, engine.journal(name), state).run()
    if (state !== undefined && state.status !== 'absent') {
      if (state.id === null) yield { kind: 'no-identity' }
      yield* checkFamily(parts, state)
    }
    if (engine.inspect === undefined) return
    for await (const oddity of engine.inspect(name)) yield problemOf(oddity)
  } catch (error) {
    const problem = problemOfError(error)
    // A session that cannot be loaded has been told of.
    if (state !== undefined) yield problem
  }
}

async function isAbsent({ engine }: StoreParts, name: string): Promise<boolean> {
  try {
    return (await engine.journal(name).segments()).length === 0
  } catch (error) {
    problemOfError(error)
    return false
  }
}

function problemOf({ kind, segment, file }: Oddity): Problem {
  return { kind, place: segment === undefined ? undefined : { segment }, detail: `The file is ${file}.` }
}

/** What an error tells of the session that was looked at. Other errors are not the session's. */
function problemOfError(error: unknown): Problem {
  if (error instanceof HoldfastError && error.code === 'UNSUPPORTED_VERSION') return { kind: 'newer-version', detail: error.message }
  if (error instanceof HoldfastError && (error.code === 'UNREADABLE' || error.code === 'DAMAGED'))
    return { kind: 'unreadable', detail: error.message }
  throw error
}
