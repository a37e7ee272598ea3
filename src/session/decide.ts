/**
 * Decides commands. Each function takes what a caller wants and returns an operation, which is decided on the state before the position of
 * its record. A condition that fails is refused and writes nothing. A repeated key or message id is answered with its first outcome and
 * writes nothing.
 */
import { HoldfastError } from '../errors.ts'
import { hashKey, type KeyHash } from '../record/key-hash.ts'
import { LIMITS } from '../record/limits.ts'
import type { Decision, Known, Operation } from '../record/operation.ts'
import { type AppendPlace, appendRecord, channelsOf, entriesBefore, messagesText, type NewMessages, placeOf } from './append-record.ts'
import { isReleased, patched } from './apply.ts'
import { samePoint } from './branch.ts'
import { command, type Deciding, type Outcome, onLive, repeated, type Terms, unchanged, unless, write } from './command.ts'
import type { JsonText } from './json-text.ts'
import type { AcknowledgedDamage, Description, Entry, ForkReleased, HeadMoved, MessageReplaced, SessionCreated } from './records.ts'
import { conflict, exists, gone, notFound, otherBody, replacedMeanwhile, someKnown, tooLarge, tooMany } from './refusals.ts'
import { isSameMessage } from './same-message.ts'
import { type Point, type SessionState, versionOf } from './state.ts'
import { tooManyModels } from './usage.ts'

/** With `ifAbsent`, a session that exists is left as it is. One that was deleted is refused, not revived by accident. */
export function create(terms: Terms, session: SessionCreated, { ifAbsent = false } = {}): Operation<SessionState, Outcome> {
  return command(terms, (state) => {
    if (state.status === 'live') return ifAbsent ? unchanged(state) : { refuse: exists(session.session) }
    if (state.status === 'absent') return write(state, 'session.created', session, terms)
    if (ifAbsent) return { refuse: gone(state) }
    return { ...write(state, 'session.created', session, terms), opens: 'new incarnation' }
  })
}

/** Appends messages: one batch becomes one record, unless it was appended before or there is no room for it. */
export function append(terms: Terms, batch: NewMessages): Operation<SessionState, Outcome> {
  const named = namedMessages(batch)
  const keys = named.map(({ key }) => key)
  const hashes = named.length === batch.messages.length ? keys : undefined
  const text = messagesText(batch)
  const before = (state: SessionState, known: Known): Decision<Outcome> | undefined =>
    repeatedBatch(state, known, named, batch.messages.length)
  const decide: Deciding = (state) => {
    const place = placeOf(state, batch)
    const refusal = batch.guard?.(state) ?? noRoomFor(state, batch, place)
    if (refusal !== undefined) return { refuse: refusal }
    const record = appendRecord(batch, text, place, terms)
    return {
      write: { type: 'messages.appended', ...record, hashes, parent: place.follows.at ?? undefined, at: terms.at },
      answer: (placed) => ({ version: versionOf(placed), duplicate: false, before: state, placed }),
    }
  }
  return onLive(terms, decide, { keys, before })
}

/** A message with an id that its caller chose. */
interface NamedMessage {
  readonly id: string
  readonly key: KeyHash
  readonly body: JsonText
}

function namedMessages({ messages, ids = [] }: NewMessages): NamedMessage[] {
  return ids.flatMap((id, index) => (id === null ? [] : [{ id, key: hashKey('message', id), body: messages[index] as JsonText }]))
}

/** Answers a batch of `count` messages with its first outcome, if all of them were appended before. One that was appended in part has none. */
function repeatedBatch(state: SessionState, known: Known, named: readonly NamedMessage[], count: number): Decision<Outcome> | undefined {
  const repeats = named.flatMap(({ id, key, body }) => {
    const entry = known(key)
    return entry === undefined ? [] : [{ id, body, entry }]
  })
  const [first, last] = [repeats[0], repeats.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const other = repeats.find(({ id, body, entry }) => !isSameMessage(id, body, entry.digest))
  if (other !== undefined) return { refuse: otherBody('message id', other.id) }
  return repeats.length < count ? { refuse: someKnown(first.id) } : repeated(state, last.entry)
}

/** Why a session has no room for a batch; undefined if it has. */
function noRoomFor(state: SessionState, { usage, entries }: NewMessages, { run }: AppendPlace): HoldfastError | undefined {
  return (
    (run === undefined ? tooMany('branches', state.runs.length + 1) : undefined) ??
    (usage === undefined ? undefined : tooManyModels(state, usage)) ??
    (entries === undefined ? undefined : tooManyChannels(state, entries))
  )
}

function tooManyChannels({ channels }: SessionState, entries: readonly Entry[]): HoldfastError | undefined {
  return tooMany('channels', new Set([...channelsOf(entries), ...channels.map(({ name }) => name)]).size)
}

/** Replaces the content of a message, which is `old`. With `expected`, it must be that one. */
export function replace(
  terms: Terms,
  { target, message, old, prior, expected = old }: Omit<MessageReplaced, 'key' | 'digest'> & { readonly expected?: string | undefined },
): Operation<SessionState, Outcome> {
  const key = hashKey('replacement', target)
  return onLive(
    terms,
    (state, known) => {
      // What was read as the old content must be the newest still.
      if ((known(key)?.at ?? null) !== prior) return { refuse: replacedMeanwhile(target, 'replaced meanwhile') }
      if (old !== expected) return { refuse: replacedMeanwhile(target, 'other content') }
      return write(state, 'message.replaced', { target, message, old, prior }, terms)
    },
    { keys: [key] },
  )
}

/** A change of tags is decided here; the record has all of them. */
export interface Descriptive extends Description {
  readonly addTags?: readonly string[]
  readonly removeTags?: readonly string[]
}

export function describe(terms: Terms, { addTags = [], removeTags = [], ...description }: Descriptive): Operation<SessionState, Outcome> {
  const changesTags = addTags.length > 0 || removeTags.length > 0
  return onLive(terms, (state) => {
    const kept = (description.tags ?? state.tags).filter((tag) => !removeTags.includes(tag))
    const tags = [...new Set([...kept, ...addTags])]
    const all = changesTags ? { ...description, tags } : description
    const excess = excessOf(state, all)
    return excess === undefined ? write(state, 'session.described', all, terms) : { refuse: excess }
  })
}

/** Each call is within its limits. Together with what the session has, it must be, too. */
function excessOf(state: SessionState, { tags = [], metadata, policies }: Description): HoldfastError | undefined {
  if (tags.length > LIMITS.tags) return tooLarge(`A session has at most ${LIMITS.tags} tags; this makes ${tags.length}.`, LIMITS.tags)
  for (const [what, before, patch] of [
    ['metadata', state.metadata, metadata],
    ['policies', state.policies, policies],
  ] as const) {
    const bytes = patch === undefined ? 0 : Buffer.byteLength(JSON.stringify(patched(before, patch)))
    if (bytes > LIMITS.metadataBytes)
      return tooLarge(`The ${what} would have ${bytes} bytes; the limit is ${LIMITS.metadataBytes}.`, LIMITS.metadataBytes)
  }
  return undefined
}

export function putEntries(terms: Terms, entries: readonly Entry[]): Operation<SessionState, Outcome> {
  return onLive(terms, (state) =>
    unless(tooManyChannels(state, entries), write(state, 'entry.put', { entries, before: entriesBefore(state, entries) }, terms)),
  )
}

/** Names the head, or another point. A name may be used again, but never one that is a message's id. */
export function snapshot(terms: Terms, name: string, point?: Point): Operation<SessionState, Outcome> {
  const key = hashKey('message', name)
  return onLive(
    terms,
    (state, known) => {
      if (known(key) !== undefined)
        return { refuse: conflict(`"${name}" is the id of a message. Choose another name.`, { reason: 'name taken', name }) }
      const others = state.snapshots.filter((snapshot) => snapshot.name !== name)
      const taken = write(state, 'snapshot.taken', { name, point: point ?? state.head }, terms)
      return unless(tooMany('snapshots', others.length + 1), taken)
    },
    { keys: [key] },
  )
}

/** Where a revert goes: to a message, before the first message if it is null, or to a snapshot. */
export type RevertTarget = { readonly message: string | null } | { readonly snapshot: string }

/** Moves the head to the message at `point`, or to where a snapshot was taken. */
export function revert(terms: Terms, to: RevertTarget, point?: Point): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const [kind, target] = 'snapshot' in to ? ['snapshot', to.snapshot] : ['message', to.message]
    const place = kind === 'snapshot' ? state.snapshots.find(({ name }) => name === target) : point
    if (place === undefined) {
      const hint = kind === 'snapshot' ? '`info().snapshots` lists them.' : 'Its pages of messages show their ids.'
      const details = { reason: kind === 'snapshot' ? 'no snapshot' : 'no message', target } as const
      return { refuse: new HoldfastError('NOT_FOUND', `There is no ${kind} "${target}" in this session. ${hint}`, { details }) }
    }
    return moveHead(state, place, target === null ? { why: 'revert' } : { why: 'revert', target }, terms)
  })
}

export function undo(terms: Terms): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const to = state.undo.at(-1)
    if (to === undefined) {
      const message = 'There is nothing to undo: no revert is left that was not taken back.'
      return { refuse: new HoldfastError('FAILED_PRECONDITION', message, { details: { reason: 'nothing to undo' } }) }
    }
    return moveHead(state, to, { why: 'undo' }, terms)
  })
}

/** Moves the head as it was moved elsewhere. */
export function moveTo(
  terms: Terms,
  to: Point,
  rest: { readonly why: 'revert' | 'undo'; readonly target?: string },
  guard: (state: SessionState) => HoldfastError | undefined = () => undefined,
): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => unless(guard(state), moveHead(state, to, rest, terms)))
}

function moveHead(state: SessionState, { at, n, t }: Point, rest: Pick<HeadMoved, 'why' | 'target'>, terms: Terms): Decision<Outcome> {
  const to = { at, n, t }
  // Under a key it is written even so: a late repetition must not move the head.
  if (samePoint(to, state.head) && rest.why === 'revert' && terms.key === undefined) return unchanged(state)
  return write(state, 'head.moved', { to, left: state.head, ...rest }, terms)
}

/** Lets another session begin from this one. Repeated for the same session it changes nothing. */
export function grant(
  terms: Terms,
  granted: { session: string; kind: 'fork' | 'child'; message: string | null },
): Operation<SessionState, Outcome> {
  // Before any condition: the grant itself has changed the version that a repeated call expects.
  const before = (state: SessionState): Decision<Outcome> | undefined =>
    state.grants.some((one) => one.session === granted.session && one.born === state.born) ? unchanged(state) : undefined
  return onLive(terms, (state) => unless(tooMany('forks', state.grants.length + 1), write(state, 'fork.granted', granted, terms)), {
    before,
  })
}

/** Takes back what a fork was granted, also if this session was deleted; with `incarnation`, only what that incarnation had granted. */
export function release(session: string, incarnation?: number): Operation<SessionState, Outcome> {
  const payload = incarnation === undefined ? { session } : { session, born: incarnation }
  return command({}, (state) => (isGranted(state, payload) ? write(state, 'fork.released', payload, {}) : unchanged(state)))
}

function isGranted({ grants }: SessionState, released: ForkReleased): boolean {
  return grants.some((granted) => isReleased(granted, released))
}

/** Records that damage is known, so that it is not reported again. A session that lost the record of its identity gets it back. */
export function acknowledge(
  findings: readonly AcknowledgedDamage[],
  identity: { readonly space: string; readonly session: string },
): Operation<SessionState, Outcome> {
  return onLive({}, (state) => write(state, 'damage.acknowledged', { findings, ...(state.id === null ? identity : {}) }, {}))
}

export function share(
  terms: Terms,
  granted: { share: string; token: string; expiresAt: string | null; redact?: boolean },
): Operation<SessionState, Outcome> {
  return onLive(terms, (state) =>
    unless(tooMany('shares', state.shares.length + 1), write(state, 'share.granted', { ...granted, point: state.head }, terms)),
  )
}

export function unshare(terms: Terms, id: string): Operation<SessionState, Outcome> {
  return onLive(
    terms,
    (state) =>
      state.shares.some((one) => one.id === id)
        ? write(state, 'share.revoked', { share: id }, terms)
        : {
            refuse: new HoldfastError('NOT_FOUND', `There is no share "${id}". It may have been revoked.`, {
              details: { reason: 'no share', share: id },
            }),
          },
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
