/**
 * What all commands have in common: the terms on which a caller gives one, what became of it, and how one that was carried out before is
 * answered with its first outcome.
 */
import type { HoldfastError } from '../errors.ts'
import { hashKey, type KeyEntry, type KeyHash } from '../record/key-hash.ts'
import type { Decision, Known, Operation, Placed } from '../record/operation.ts'
import type { JsonObject, RecordType } from '../record/record.ts'
import { isBackground } from './apply.ts'
import { anew, gone, otherBody, unexpected } from './refusals.ts'
import { type Archive, type SessionState, versionOf } from './state.ts'

/** What every command may carry. */
export interface Terms {
  /** The version that the session must still have. */
  readonly expect?: string | undefined
  /** The operation's key, and a digest of everything that the caller had sent with it. */
  readonly key?: string | undefined
  readonly digest?: string | undefined
  /** The incarnation in which the places that this command names were looked up: in another one they mean something else. */
  readonly born?: number | undefined
  /** When it happened, and under which id, of what is imported; now, and a new one, unless told. */
  readonly at?: string | undefined
  readonly id?: string | undefined
  /** What the past of a fork knows of the keys of this command, and of which incarnation. */
  readonly inherited?: { readonly born: number; readonly known: ReadonlyMap<KeyHash, InheritedKey> } | undefined
}

/** A key that stands in the journal of another session. */
export interface InheritedKey extends KeyEntry {
  readonly session: string
}

/** A fork also inherits keys. They stand in other journals, and have to be looked up before the command can be decided. */
export class InheritedKeysNeeded extends Error {
  readonly state: SessionState
  readonly keys: readonly KeyHash[]

  constructor(state: SessionState, keys: readonly KeyHash[]) {
    super('The keys of the past have to be looked up first.')
    this.state = state
    this.keys = keys
  }
}

/** What became of a command. */
export interface Outcome {
  readonly version: string
  readonly duplicate: boolean
  /** The session's state with the command carried out would be read behind `placed`; in front of it, it was this. */
  readonly before: SessionState
  readonly placed?: Placed
  /** The archive that it made. */
  readonly archive?: Pick<Archive, 'number' | 'task' | 'n'>
  /** Of a duplicate: where its first outcome stands. */
  readonly first?: KeyEntry | InheritedKey
}

export type Deciding = (state: SessionState, known: Known) => Decision<Outcome>

interface CommandOptions {
  readonly keys?: readonly KeyHash[]
  readonly urgent?: boolean
  /** Its record leaves the version as it is. */
  readonly background?: boolean
  /** Answers a command that was carried out before, whatever is expected by now. */
  readonly before?: (state: SessionState, known: Known) => Decision<Outcome> | undefined
}

/** A command with a key and a condition. */
export function command(terms: Terms, decide: Deciding, options: CommandOptions = {}): Operation<SessionState, Outcome> {
  const operationKey = terms.key === undefined ? undefined : hashKey('operation', terms.key)
  const keys = operationKey === undefined ? (options.keys ?? []) : [operationKey, ...(options.keys ?? [])]
  return {
    keys: keys.length > 0 ? keys : undefined,
    urgent: options.urgent,
    decide: (state, found) => {
      const { inherited } = terms
      if (state.past.length > 0 && keys.length > 0 && inherited?.born !== state.born)
        return { refuse: new InheritedKeysNeeded(state, keys) }
      const known: Known = (key, kind) => found(key, kind) ?? inherited?.known.get(key)
      const first = operationKey === undefined ? undefined : known(operationKey, 'operation')
      if (first !== undefined)
        return first.digest === terms.digest ? repeated(state, first, options) : { refuse: otherBody('key', terms.key as string) }
      const before = state.status === 'live' ? options.before?.(state, known) : undefined
      if (before !== undefined) return before
      if (terms.expect !== undefined && terms.expect !== state.version) return { refuse: unexpected(terms.expect, state) }
      if (terms.born !== undefined && terms.born !== state.born) return { refuse: anew() }
      return decide(state, known)
    },
  }
}

/** A command on a session that must be there. */
export function onLive(terms: Terms, decide: Deciding, options: CommandOptions = {}): Operation<SessionState, Outcome> {
  return command(terms, (state, known) => (state.status === 'live' ? decide(state, known) : { refuse: gone(state) }), options)
}

export function write(state: SessionState, type: RecordType, payload: object, terms: Terms): Decision<Outcome> {
  const keyed = terms.key === undefined ? payload : { ...payload, key: terms.key, digest: terms.digest }
  return {
    write: { type, payload: keyed as JsonObject, ...imported(terms) },
    answer: (placed) => ({
      version: isBackground(type, payload) ? state.version : versionOf(placed),
      duplicate: false,
      before: state,
      placed,
    }),
  }
}

function imported({ at, id }: Terms): { at?: string; id?: string } {
  return { ...(at === undefined ? {} : { at }), ...(id === undefined ? {} : { id }) }
}

export function repeated(state: SessionState, first: KeyEntry, { background = false }: CommandOptions = {}): Decision<Outcome> {
  const version = background ? state.version : versionOf({ end: first.at + first.length, crc: first.crc })
  return { answer: { version, duplicate: true, before: state, first } }
}

export function unchanged(state: SessionState): Decision<Outcome> {
  return { answer: { version: state.version, duplicate: false, before: state } }
}

export function unless(excess: HoldfastError | undefined, decision: Decision<Outcome>): Decision<Outcome> {
  return excess === undefined ? decision : { refuse: excess }
}
