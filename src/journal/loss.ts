/** What a journal is known to have held, and does not. Nothing may be placed in such a journal until a person has accepted the loss. */
import type { Engine, Vanished } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { endOf } from '../record/damaged-line.ts'
import { decodeLine, type Line } from '../record/line.ts'
import type { JournalRecord, JsonObject } from '../record/record.ts'
import { nextEpoch } from '../record/watermark.ts'
import { withSession } from './command-words.ts'
import type { Reducer } from './reducer.ts'

export interface Loss extends Vanished {
  /** `vanished`: bytes are no longer there. `identity`: these are the files of another session. */
  readonly as: 'vanished' | 'identity'
}

export interface Identity {
  readonly space: string
  readonly id: string
}

/** The damage that was met while a journal was loaded. */
interface DamageMet {
  readonly places: readonly { readonly as: string }[]
  /** The first record names one before it. */
  readonly isOrphaned: boolean
  /** Where zeros begin that no record follows; undefined if there are none. */
  readonly lastZeros: number | undefined
}

/** A journal as it was loaded. */
interface Loaded<S> {
  readonly state: S
  /** Where its first segment starts; undefined if there is none. */
  readonly start: number | undefined
  readonly end: number
  /** Whether the state before its first record is known. */
  readonly rooted: boolean
  /** What a line says that is intact and cannot be opened with the key of this session. */
  readonly stated: Identity | undefined
  /** The first line that is not at its place. If bytes are missing before it, neither that line nor any after it counts. */
  readonly displaced: { readonly how: Displaced; readonly at: number } | undefined
  readonly damage: DamageMet
  /** What its engine found to be missing. */
  readonly vanished: Vanished | undefined
  /** It ends with a seal that accepts a loss, and the segment after it is not there yet. */
  readonly accepted: boolean
}

/** Whether the journal of this session has the name of the one that was loaded. */
export type IsNamed = (space: string, id: string) => boolean

export function isNamedIn(engine: Pick<Engine, 'name'>, name: string): IsNamed {
  return (space, id) => engine.name(space, id) === name
}

/** Compares a journal with what must be there: its own session, its start, and everything that its engine knows of. */
export function findLoss<S>(reducer: Reducer<S>, loaded: Loaded<S>, isNamed: IsNamed | undefined): Loss | undefined {
  const { state, start, end, rooted, stated, displaced, damage, vanished, accepted } = loaded
  const identity = reducer.identity?.(state) ?? stated
  if (identity !== undefined && isNamed?.(identity.space, identity.id) === false) return { from: start ?? 0, to: end, as: 'identity' }
  // What was accepted ends with its epoch. What is lost after that was written since.
  if (accepted) {
    const from = nextEpoch(end, end)
    return vanished !== undefined && vanished.to > from ? { from, to: vanished.to, as: 'vanished' } : undefined
  }
  const illegible = isIllegible(reducer, loaded)
  const startsLate = start !== undefined && (!rooted || reducer.mayStartAt?.(state, start) === false)
  if (vanished === undefined && !startsLate && !illegible) return undefined
  const ahead = displaced?.how === 'ahead' ? displaced.at : Number.POSITIVE_INFINITY
  // No record is left after such zeros: they are part of the loss.
  const from = startsLate || illegible ? 0 : Math.min(vanished?.from ?? 0, ahead, damage.lastZeros ?? Number.POSITIVE_INFINITY)
  return { from, to: Math.max(vanished?.to ?? 0, startsLate ? start : 0, illegible ? end : 0), as: 'vanished' }
}

/** Whose journal a line begins, as it says itself: also one that another session's key has encrypted. */
export function statedIdentity({ bytes }: Line): Identity | undefined {
  const decoded = decodeLine(bytes)
  return decoded.kind === 'record' && decoded.record.type === 'session.created' ? identityIn(decoded.record) : undefined
}

/** Whose journal a record belongs to, if it is one that says so: the first one, or a checkpoint that is not encrypted. */
export function identityIn(record: JournalRecord): Identity | undefined {
  const { type, space, session, state } = record
  if (type === 'session.created') return identityOf(space, session)
  if (type !== 'checkpoint') return undefined
  // Of one that is encrypted this is a string.
  const plain = (state ?? {}) as JsonObject
  return identityOf(plain.space, plain.id)
}

function identityOf(space: unknown, id: unknown): Identity | undefined {
  return typeof space === 'string' && typeof id === 'string' ? { space, id } : undefined
}

/** Where a line is that is not at its own position: `ahead` of it if bytes before it are missing, `behind` it if others wrote first. */
export type Displaced = 'ahead' | 'behind'

export function displacement(line: Line): Displaced {
  return (endOf(line)?.position ?? 0) > line.at ? 'ahead' : 'behind'
}

/**
 * Whether something was written where nothing counts, or only records that follow others: that is not a journal that never was. But where several
 * processes were about to create one, and some of them failed, there are torn lines, or lines behind their place, and nothing was acknowledged.
 */
function isIllegible<S>(reducer: Reducer<S>, { state, displaced, damage: { places, isOrphaned } }: Loaded<S>): boolean {
  const isAbsent = reducer.isAbsent?.(state) ?? state === reducer.initial
  if (!isAbsent) return false
  const raced = displaced?.how === 'behind' || places.some(({ as }) => as === 'torn')
  return isOrphaned || displaced?.how === 'ahead' || (!raced && places.some(({ as }) => as === 'rotten'))
}

/** Why nothing may be written to a journal that lost something. `session`: whose journal it is, where that is known. */
export function lossError({ from, to, as }: Loss, session?: { readonly space: string; readonly id: string }): HoldfastError {
  const details = { reason: as, from, to }
  if (as === 'identity') {
    const message =
      'The files of this journal belong to another session. Move them back to where they came from. If they are a copy, move them out of the store and run `holdfast restore-backup <backup> --session <id>`.'
    return new HoldfastError('DAMAGED', session === undefined ? message : withSession(message, session), { details })
  }
  const text =
    `Bytes of this session have vanished: positions ${from} to ${to} were written and are no longer there. ` +
    'Restore them with `holdfast restore-backup <backup> --session <id>`, or run `holdfast accept-damage <id>` to continue without them.'
  return new HoldfastError('DAMAGED', session === undefined ? text : withSession(text, session), { details })
}

/** The same error, with the session's id in the commands that it names: engines do not have the id. */
export function namingSession(error: HoldfastError, session: { readonly space: string; readonly id: string }): HoldfastError {
  const { code, message, details, outcome } = error
  const named = withSession(message, session)
  return code !== 'DAMAGED' || named === message ? error : new HoldfastError(code, named, { details, outcome, cause: error })
}
