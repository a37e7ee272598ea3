/**
 * Commands, decided: each function takes what a caller wants and returns an operation, which is decided on the state in front of the
 * place where its record would stand. A condition that does not hold is refused and writes nothing; a repeated key or message id is
 * answered with its first outcome and writes nothing.
 */
import { HoldfastError } from '../errors.ts'
import { hashKey, type KeyHash } from '../record/key-hash.ts'
import { LIMITS } from '../record/limits.ts'
import type { Decision, Known, Operation } from '../record/operation.ts'
import type { JsonObject } from '../record/record.ts'
import { runText, textsOf } from './append-text.ts'
import { isTip, samePoint } from './branch.ts'
import { command, type Deciding, type Outcome, onLive, repeated, type Terms, unchanged, unless, write } from './command.ts'
import { isReleased, patched } from './fold.ts'
import type { JsonText } from './json-text.ts'
import type {
  AcknowledgedDamage,
  Description,
  Entry,
  EntryPut,
  ForkReleased,
  HeadMoved,
  MessageReplaced,
  MessageUsage,
  SessionCreated,
} from './records.ts'
import { conflict, exists, gone, notFound, otherBody, replacedMeanwhile, someKnown, tooLarge, tooMany } from './refusals.ts'
import { type Point, type SessionState, versionOf } from './state.ts'
import { tooManyModels } from './usage.ts'

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
  readonly messages: readonly JsonText[]
  readonly ids?: readonly (string | null)[] | undefined
  /** The messages as they stand in the record, with commas between them, where that is known already. */
  readonly bytes?: Uint8Array | undefined
  readonly tokens: number
  /** When each was said, of what is imported. */
  readonly times?: readonly (string | null)[] | undefined
  /** What the calls took that they came from. */
  readonly usage?: readonly MessageUsage[] | undefined
  /** The message that these follow, if it is not the head. */
  readonly parent?: Point | undefined
  /** Data beside the messages, in the same record. */
  readonly entries?: readonly Entry[] | undefined
  /** Why what the caller had read no longer holds. */
  readonly guard?: ((state: SessionState) => HoldfastError | undefined) | undefined
}

export function append(
  terms: Terms,
  { messages, ids, bytes, tokens, times, usage, parent, entries, guard }: NewMessages,
): Operation<SessionState, Outcome> {
  const given: { readonly id: string; readonly key: KeyHash; readonly digest: string }[] = []
  for (const [index, id] of (ids ?? []).entries())
    if (id !== null) given.push({ id, key: hashKey('message', id), digest: (messages[index] as JsonText).digest })
  const hashes = given.length === messages.length ? given.map(({ key }) => key) : undefined
  const type = 'messages.appended' as const
  const texts = bytes === undefined ? textsOf(messages) : ''
  const before = (state: SessionState, known: Known): Decision<Outcome> | undefined => {
    const found = given.map(({ key }) => known(key))
    const some = given.find((_, index) => found[index] !== undefined)
    if (some === undefined) return undefined
    const other = given.find(({ digest }, index) => found[index] !== undefined && found[index]?.digest !== digest)
    if (other !== undefined) return { refuse: otherBody('message id', other.id) }
    const last = found.at(-1)
    if (last === undefined || found.includes(undefined) || given.length < messages.length) return { refuse: someKnown(some.id) }
    return repeated(state, last)
  }
  const decide: Deciding = (state) => {
    const follows = parent ?? state.head
    const moves = !samePoint(follows, state.head)
    const run = isTip(state, follows.at) ? state.runs.at(-1) : undefined
    const linked = entries === undefined ? undefined : linksOf(state, entries)
    const refusal =
      guard?.(state) ??
      (run === undefined ? tooMany('branches', state.runs.length + 1) : undefined) ??
      (usage === undefined ? undefined : tooManyModels(state, usage)) ??
      linked?.excess
    if (refusal !== undefined) return { refuse: refusal }
    const { n, t } = follows
    const payload: { [field: string]: unknown } = run === undefined ? { messages, n, t, tokens } : { messages, n, t, tokens, run }
    let rest = `],"n":${n},"t":${t},"tokens":${tokens}`
    if (run !== undefined) rest += `,"run":${runText(run)}`
    const more = (name: string, value: unknown): void => {
      payload[name] = value
      rest += `,"${name}":${JSON.stringify(value)}`
    }
    if (given.length > 0) more('ids', ids)
    if (times !== undefined) more('times', times)
    if (usage !== undefined) more('usage', usage)
    if (moves) more('left', state.head)
    if (entries !== undefined) more('entries', entries)
    if (linked?.before !== undefined) more('before', linked.before)
    if (terms.key !== undefined) {
      more('key', terms.key)
      more('digest', terms.digest)
    }
    rest += '}'
    const text = bytes === undefined ? `{"messages":[${texts}${rest}` : (['{"messages":[', bytes, rest] as const)
    const write = {
      type,
      payload: payload as JsonObject,
      text,
      hashes,
      parent: follows.at ?? undefined,
      at: terms.at,
    }
    return { write, answer: (placed) => ({ version: versionOf(placed), duplicate: false, before: state, placed }) }
  }
  return onLive(terms, decide, { keys: given.map(({ key }) => key), before })
}

/** New content for a message that has the content `old`, and must have the one `expected`, if that is given. */
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

/** A change of tags is decided here; the record holds all of them. */
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

/** What one call brings is within its limits; what it adds up to with what is there must be, too. */
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
  return onLive(terms, (state) => {
    const { before, excess } = linksOf(state, entries)
    return unless(excess, write(state, 'entry.put', { entries, before }, terms))
  })
}

/** For each channel of some entries the record with those before; and why there is no room for them, if there is none. */
function linksOf(state: SessionState, entries: readonly Entry[]): { before: EntryPut['before']; excess: HoldfastError | undefined } {
  const channels = [...new Set(entries.map(({ channel }) => channel))]
  const before = channels.map((name) => [name, state.channels.find((channel) => channel.name === name)?.last ?? null] as const)
  const all = new Set([...channels, ...state.channels.map(({ name }) => name)])
  return { before, excess: tooMany('channels', all.size) }
}

/** Names the head, or another point. A name may be used again, but never one that is a message's id. */
export function snapshot(terms: Terms, name: string, point?: Point): Operation<SessionState, Outcome> {
  const key = hashKey('message', name)
  return onLive(
    terms,
    (state, known) => {
      if (known(key) !== undefined) return { refuse: conflict(`"${name}" is the id of a message. Choose another name.`, { name }) }
      const others = state.snapshots.filter((snapshot) => snapshot.name !== name)
      const taken = write(state, 'snapshot.taken', { name, point: point ?? state.head }, terms)
      return unless(tooMany('snapshots', others.length + 1), taken)
    },
    { keys: [key] },
  )
}

/** Where a revert goes: to a message, before the first message if it is null, or to a snapshot. */
export type RevertTarget = { readonly message: string | null } | { readonly snapshot: string }

/** Moves the head to a message, whose point is given, or to where a snapshot was taken. */
export function revert(terms: Terms, to: RevertTarget, point?: Point): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const [kind, target] = 'snapshot' in to ? ['snapshot', to.snapshot] : ['message', to.message]
    const place = kind === 'snapshot' ? state.snapshots.find(({ name }) => name === target) : point
    if (place === undefined) {
      const hint = kind === 'snapshot' ? '`snapshots` lists those that there are.' : 'Take an id from `messages`.'
      return { refuse: new HoldfastError('NOT_FOUND', `No ${kind} is called "${target}". ${hint}`, { details: { target } }) }
    }
    return moveHead(state, place, target === null ? { why: 'revert' } : { why: 'revert', target }, terms)
  })
}

export function undo(terms: Terms): Operation<SessionState, Outcome> {
  return onLive(terms, (state) => {
    const to = state.undo.at(-1)
    if (to === undefined) return { refuse: new HoldfastError('FAILED_PRECONDITION', 'There is nothing to undo: the head was never moved.') }
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
  // Under a key it is written all the same: repeated later, it must not move the head then.
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
    state.grants.some(({ session, born }) => session === granted.session && born === state.born) ? unchanged(state) : undefined
  return onLive(terms, (state) => unless(tooMany('forks', state.grants.length + 1), write(state, 'fork.granted', granted, terms)), {
    before,
  })
}

/** Also of a deleted session: a fork that is purged lets go of what it shared. `born`: only what that incarnation had granted. */
export function release(session: string, born?: number): Operation<SessionState, Outcome> {
  const payload = born === undefined ? { session } : { session, born }
  return command({}, (state) => (isGranted(state, payload) ? write(state, 'fork.released', payload, {}) : unchanged(state)))
}

function isGranted({ grants }: SessionState, released: ForkReleased): boolean {
  return grants.some((granted) => isReleased(granted, released))
}

/** Notes that damage is known, so that it is not reported again. A session that lost the record of its identity gets it back. */
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
