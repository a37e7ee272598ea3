/**
 * Commands, decided: each function takes what a caller wants and returns an operation, which is decided on the state in front of the
 * place where its record would stand. A condition that does not hold is refused and writes nothing; a repeated key or message id is
 * answered with its first outcome and writes nothing.
 */
import { HoldfastError } from '../errors.ts'
import { hashKey, type KeyEntry, type KeyHash } from '../record/keys.ts'
import type { Json, JsonObject, RecordType } from '../record/record.ts'
import type { Decision, Known, Operation, Placed } from './decision.ts'
import { digestOf } from './keys.ts'
import type { Description, Entry, MessageReplaced, SessionCreated } from './records.ts'
import { type Point, type SessionState, versionOf } from './state.ts'

/** What every command may carry. */
export interface Terms {
  /** The version that the session must still have. */
  readonly expect?: string | undefined
  /** The operation's key, and a digest of everything that the caller had sent with it. */
  readonly key?: string | undefined
  readonly digest?: string | undefined
  /** What the past of a fork knows of the keys of this command, and of which incarnation. */
  readonly inherited?: { readonly born: number; readonly known: ReadonlyMap<KeyHash, KeyEntry> } | undefined
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
  /** Of a duplicate: where its first outcome stands. */
  readonly first?: KeyEntry
}

type Deciding = (state: SessionState, known: Known) => Decision<Outcome>

/** A command with a key and a condition. */
export function command(
  terms: Terms,
  decide: Deciding,
  options: { keys?: readonly KeyHash[]; urgent?: boolean } = {},
): Operation<SessionState, Outcome> {
  const operationKey = terms.key === undefined ? undefined : hashKey('operation', terms.key)
  const keys = [...(operationKey === undefined ? [] : [operationKey]), ...(options.keys ?? [])]
  return {
    ...(keys.length > 0 ? { keys } : {}),
    ...(options.urgent === true ? { urgent: true } : {}),
    decide: (state, found) => {
      const { inherited } = terms
      if (state.past.length > 0 && keys.length > 0 && inherited?.born !== state.born)
        return { refuse: new InheritedKeysNeeded(state, keys) }
      const known: Known = (key) => found(key) ?? inherited?.known.get(key)
      const first = operationKey === undefined ? undefined : known(operationKey)
      if (first !== undefined)
        return first.digest === terms.digest ? repeated(state, first) : { refuse: otherBody('key', terms.key as string) }
      if (terms.expect !== undefined && terms.expect !== state.version) return { refuse: unexpected(terms.expect, state) }
      return decide(state, known)
    },
  }
}

/** A command on a session that must be there. */
export function onLive(
  terms: Terms,
  decide: Deciding,
  options: { keys?: readonly KeyHash[]; urgent?: boolean } = {},
): Operation<SessionState, Outcome> {
  return command(terms, (state, known) => (state.status === 'live' ? decide(state, known) : { refuse: gone(state) }), options)
}

export function write(state: SessionState, type: RecordType, payload: object, terms: Terms): Decision<Outcome> {
  const keyed = terms.key === undefined ? payload : { ...payload, key: terms.key, digest: terms.digest }
  return {
    write: { type, payload: keyed as JsonObject },
    answer: (placed) => ({ version: versionOf(placed), duplicate: false, before: state, placed }),
  }
}

function repeated(state: SessionState, first: KeyEntry): Decision<Outcome> {
  return { answer: { version: versionOf({ end: first.at + first.length, crc: first.crc }), duplicate: true, before: state, first } }
}

export function unchanged(state: SessionState): Decision<Outcome> {
  return { answer: { version: state.version, duplicate: false, before: state } }
}

/** With `ifAbsent`, a session that is there already is as good; one that was deleted is not revived by accident. */
export function create(terms: Terms, session: SessionCreated, { ifAbsent = false } = {}): Operation<SessionState, Outcome> {
  return command(terms, (state) => {
    if (state.status === 'live') return ifAbsent ? unchanged(state) : { refuse: exists(session.session) }
    if (state.status === 'absent') return write(state, 'session.created', session, terms)
    if (ifAbsent) return { refuse: gone(state) }
    return { ...write(state, 'session.created', session, terms), opens: 'new incarnation' }
  })
}

export interface NewMessages {
  readonly messages: readonly Json[]
  readonly ids?: readonly (string | null)[] | undefined
  readonly tokens: number
  /** The message that these follow, if it is not the head. */
  readonly parent?: Point | undefined
}

export function append(terms: Terms, { messages, ids, tokens, parent }: NewMessages): Operation<SessionState, Outcome> {
  const given = (ids ?? []).flatMap((id, index) =>
    id === null ? [] : [{ id, key: hashKey('message', id), digest: digestOf(messages[index] as Json) }],
  )
  const decide: Deciding = (state, known) => {
    const entries = given.map(({ key }) => known(key))
    const other = given.find(({ digest }, index) => entries[index] !== undefined && entries[index]?.digest !== digest)
    if (other !== undefined) return { refuse: otherBody('message id', other.id) }
    const first = entries.findLast((entry) => entry !== undefined)
    if (first !== undefined && entries.every((entry) => entry !== undefined) && given.length === messages.length)
      return repeated(state, first)
    const some = given.find((_, index) => entries[index] !== undefined)
    if (some !== undefined) return { refuse: someKnown(some.id) }
    const follows = parent ?? state.head
    const moves = !samePoint(follows, state.head)
    const payload = {
      messages,
      ...(given.length > 0 ? { ids } : {}),
      n: follows.n,
      t: follows.t,
      tokens,
      ...(moves ? { left: state.head } : {}),
    }
    const decision = write(state, 'messages.appended', payload, terms)
    if (follows.at === null || decision.write === undefined) return decision
    return { ...decision, write: { ...decision.write, parent: follows.at } }
  }
  return onLive(terms, decide, { keys: given.map(({ key }) => key) })
}

/** New content for a message, which must still have the content that the caller saw, if that is given. */
export function replace(
  terms: Terms,
  { target, message, old, prior }: Pick<MessageReplaced, 'target' | 'message' | 'old' | 'prior'>,
): Operation<SessionState, Outcome> {
  const key = hashKey('replacement', target)
  return onLive(
    terms,
    (state, known) => {
      // What was read as the old content must be the newest still.
      if ((known(key)?.at ?? null) !== prior)
        return {
          refuse: conflict(`The message "${target}" was replaced meanwhile. Read it again.`, {
            reason: 'replaced meanwhile',
            message_id: target,
          }),
        }
      return write(state, 'message.replaced', { target, message, old, prior }, terms)
    },
    { keys: [key] },
  )
}

/** A change of tags is decided here; the record holds all of them. */
export interface Descriptive extends Description {
  readonly addTags?: readonly string[]
  readonly removeTags?: readonly string[]
}

export function describe(terms: Terms, { addTags = [], removeTags = [], ...description }: Descriptive): Operation<SessionState, Outcome> {
  const changesTags = addTags.length > 0 || removeTags.length > 0
  return onLive(terms, (state) => {
    if (!changesTags) return write(state, 'session.described', description, terms)
    const kept = (description.tags ?? state.tags).filter((tag) => !removeTags.includes(tag))
    return write(state, 'session.described', { ...description, tags: [...new Set([...kept, ...addTags])] }, terms)
  })
}

export function putEntries(terms: Terms, entries: readonly Entry[]): Operation<SessionState, Outcome> {
  const channels = [...new Set(entries.map(({ channel }) => channel))]
  return onLive(terms, (state) => {
    const before = channels.map((name) => [name, state.channels.find((channel) => channel.name === name)?.last ?? null])
    return write(state, 'entry.put', { entries, before }, terms)
  })
}

/** Names the head, or another point. A name may be used again, but never one that is a message's id. */
export function snapshot(terms: Terms, name: string, point?: Point): Operation<SessionState, Outcome> {
  const key = hashKey('message', name)
  return onLive(
    terms,
    (state, known) => {
      if (known(key) !== undefined) return { refuse: conflict(`"${name}" is the id of a message. Choose another name.`, { name }) }
      return write(state, 'snapshot.taken', { name, point: point ?? state.head }, terms)
    },
    { keys: [key] },
  )
}

/** Moves the head to a point, or to where a snapshot was taken. */
export function revert(terms: Terms, target: string, point?: Point): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const to = point ?? state.snapshots.find(({ name }) => name === target)
    if (to === undefined) {
      return {
        refuse: new HoldfastError('NOT_FOUND', `No snapshot and no message is called "${target}". \`snapshots\` tells what there is.`, {
          details: { target },
        }),
      }
    }
    return moveHead(state, to, { why: 'revert', target }, terms)
  })
}

export function undo(terms: Terms): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const to = state.undo.at(-1)
    if (to === undefined) return { refuse: new HoldfastError('FAILED_PRECONDITION', 'There is nothing to undo: the head was never moved.') }
    return moveHead(state, to, { why: 'undo' }, terms)
  })
}

function moveHead(state: SessionState, { at, n, t }: Point, rest: object, terms: Terms): Decision<Outcome> {
  const to = { at, n, t }
  return samePoint(to, state.head) && 'target' in rest
    ? unchanged(state)
    : write(state, 'head.moved', { to, left: state.head, ...rest }, terms)
}

export function samePoint(a: Point, b: Point): boolean {
  return a.n === b.n && a.at?.[0] === b.at?.[0] && a.at?.[1] === b.at?.[1]
}

/** Lets another session begin from this one. Repeated for the same session it changes nothing. */
export function grant(
  terms: Terms,
  granted: { session: string; kind: 'fork' | 'child'; message: string | null },
): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const known = state.grants.find(({ session, born }) => session === granted.session && born === state.born)
    return known === undefined ? write(state, 'fork.granted', granted, terms) : unchanged(state)
  })
}

/** Also of a deleted session: a fork that is purged lets go of what it shared. */
export function release(session: string): Operation<SessionState, Outcome> {
  return command({}, (state) =>
    state.grants.some((granted) => granted.session === session) ? write(state, 'fork.released', { session }, {}) : unchanged(state),
  )
}

export function recordUsage(
  terms: Terms,
  usage: { model: string; inputTokens: number; outputTokens: number },
): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => write(state, 'usage.recorded', usage, terms))
}

export function share(terms: Terms, granted: { share: string; token: string; expiresAt: string | null }): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => write(state, 'share.granted', { ...granted, point: state.head }, terms))
}

export function unshare(terms: Terms, id: string): Operation<SessionState, Outcome> {
  return onLive(
    terms,
    (state) =>
      state.shares.some((one) => one.id === id)
        ? write(state, 'share.revoked', { share: id }, terms)
        : { refuse: new HoldfastError('NOT_FOUND', `There is no share "${id}". It may have been revoked.`, { details: { share: id } }) },
    { urgent: true },
  )
}

export function remove(terms: Terms): Operation<SessionState, Outcome> {
  return command(
    terms,
    (state) => {
      if (state.status === 'live') return write(state, 'session.deleted', {}, terms)
      return { refuse: notFound(state) }
    },
    { urgent: true },
  )
}

export function restore(terms: Terms): Operation<SessionState, Outcome> {
  return command(terms, (state) => {
    if (state.status === 'absent') return { refuse: notFound(state) }
    if (state.status === 'live')
      return { refuse: conflict('The session is not deleted; there is nothing to restore.', { reason: 'not deleted' }) }
    if (state.purged) return { refuse: notFound(state) }
    return write(state, 'session.restored', {}, terms)
  })
}

/** Refuses to read what is not there. */
export function requireLive(state: SessionState): SessionState {
  if (state.status !== 'live') throw notFound(state)
  return state
}

function notFound(state: SessionState): HoldfastError {
  if (state.status === 'absent') return new HoldfastError('NOT_FOUND', 'There is no such session.', { details: { reason: 'absent' } })
  if (state.purged) return new HoldfastError('NOT_FOUND', 'The session was deleted and purged.', { details: { reason: 'purged' } })
  return new HoldfastError('NOT_FOUND', 'The session was deleted. It can be restored until it is purged.', {
    details: { reason: 'deleted' },
  })
}

/** A writer that is late must be told, and must not be taken for somebody who mistyped an id. */
function gone(state: SessionState): HoldfastError {
  if (state.status === 'absent') return notFound(state)
  return conflict('The session was deleted, so nothing can be added to it. Restore it, or create it anew.', { reason: 'deleted' })
}

function exists(id: string): HoldfastError {
  return new HoldfastError('ALREADY_EXISTS', `The session "${id}" exists already.`, { details: { session_id: id } })
}

function unexpected(expected: string, { version }: SessionState): HoldfastError {
  return conflict('The session has changed since the version that was expected. Read it again and decide anew.', {
    reason: 'version',
    expected,
    version,
  })
}

function otherBody(what: string, value: string): HoldfastError {
  return conflict(`The ${what} "${value}" was used before, with another body. Use a new one.`, {
    reason: 'other body',
    [what.replace(' ', '_')]: value,
  })
}

function someKnown(id: string): HoldfastError {
  return conflict(
    `Some messages of this batch were appended before ("${id}"), others were not. Send the batch as it was, or only new ones.`,
    {
      reason: 'part of the batch',
      message_id: id,
    },
  )
}

export function conflict(message: string, details: Readonly<Record<string, unknown>>): HoldfastError {
  return new HoldfastError('CONFLICT', message, { details })
}
