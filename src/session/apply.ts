/**
 * What each record does to the state. Writers decided whether it may stand where it stands; here it is only carried out, and never
 * refused. A record whose meaning depends on one that rotted still means what it says.
 */
import type { Counted } from '../record/fold.ts'
import type { JournalRecord, JsonObject } from '../record/record.ts'
import { withAccepted } from './accepted.ts'
import { archivedOf, branchTo, heldOf, isTip, isWhole, merged, samePoint } from './branch.ts'
import { withNoticed } from './noticed.ts'
import type {
  CommitFailed,
  CommitFinished,
  CommitLeased,
  CommitRequested,
  DamageAcknowledged,
  DamageNoticed,
  Description,
  EntryPut,
  ForkGranted,
  ForkReleased,
  HeadMoved,
  MessageErased,
  MessagesAppended,
  ModelCall,
  SessionCreated,
  ShareGranted,
  ShareRevoked,
  SnapshotTaken,
  UsageRecorded,
} from './records.ts'
import { type Amount, type Archive, changed, type Grant, INITIAL, type Point, type Run, type SessionState, versionOf } from './state.ts'

/** How many moves of the head can be undone. */
const UNDO_STEPS = 100

/** Records that are not a caller's: they do not change what a condition on the version protects. */
const BACKGROUND: ReadonlySet<string> = new Set([
  'commit.leased',
  'commit.finished',
  'commit.failed',
  'usage.recorded',
  'fork.granted',
  'fork.released',
  'damage.noticed',
  'damage.acknowledged',
  'segment.sealed',
])

/** Whether a record leaves the version of the session as it is. */
export function isBackground(type: string, payload: object): boolean {
  return BACKGROUND.has(type) || (type === 'message.erased' && (payload as MessageErased).keeps === true)
}

type Handler = (state: SessionState, record: JournalRecord, counted: Counted) => SessionState

const HANDLERS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['session.created', created],
  ['session.deleted', (state, record) => changed(state, { status: 'deleted', deletedAt: record.at, purged: false })],
  ['session.restored', (state) => changed(state, { status: 'live', deletedAt: null })],
  ['session.described', (state, record) => described(state, payloadOf<Description>(record))],
  ['messages.appended', appended],
  ['message.replaced', (state) => changed(state, { replaced: state.replaced + 1 })],
  ['message.erased', messageErased],
  ['entry.put', entryPut],
  ['snapshot.taken', snapshotTaken],
  ['head.moved', headMoved],
  ['fork.granted', forkGranted],
  ['fork.released', forkReleased],
  ['commit.requested', commitRequested],
  ['commit.leased', commitLeased],
  ['commit.finished', commitFinished],
  ['commit.failed', commitFailed],
  ['commit.cancelled', (state, record, { at }) => task(state, record, { status: 'cancelled', lease: null, ended: at })],
  ['memories.retracted', (state, record) => task(state, record, { retracted: true })],
  ['usage.recorded', usageRecorded],
  ['share.granted', shareGranted],
  ['share.revoked', shareRevoked],
  ['damage.noticed', (state, record) => withNoticed(state, payloadOf<DamageNoticed>(record))],
  ['damage.acknowledged', (state, record, counted) => withAccepted(state, payloadOf<DamageAcknowledged>(record), counted)],
  ['segment.sealed', (state, record) => (record.why === 'purge' && state.status === 'deleted' ? purged(state) : state)],
])

export function apply(state: SessionState, counted: Counted): SessionState {
  const { record } = counted
  const handler = HANDLERS.get(record.type)
  if (handler === undefined) return changed(state, { unknown: true })
  const next = handler(state, record, counted)
  if (isBackground(record.type, record)) return next
  // Without its first record, a session is still one: its identity is lost and nothing else.
  const status = next.status === 'absent' ? 'live' : next.status
  const stamp = { status, updatedAt: later(next.updatedAt, record.order ?? record.at), version: versionOf(counted) }
  // What was made just now is nobody else's yet, and need not be copied once more.
  return next === state ? changed(state, stamp) : Object.assign(next, stamp)
}

/** The later of two times. An import may add records that are older than those before them. */
function later(one: string, other: string): string {
  return one > other ? one : other
}

function payloadOf<T>(record: JournalRecord): T {
  return record as unknown as T
}

/** A new incarnation knows nothing of the one before, but that others still reach it. */
function created(state: SessionState, record: JournalRecord, { at }: Counted): SessionState {
  const { space, session, from, past = [], tokens = 0, archives = [], replaced = 0, ...description } = payloadOf<SessionCreated>(record)
  const depth = past.at(-1)?.to ?? 0
  const begun = changed(INITIAL, {
    status: 'live',
    space,
    id: session,
    born: at,
    createdAt: record.at,
    parent: from ?? null,
    past,
    head: { at: null, n: depth, t: tokens },
    archives,
    replaced,
    grants: state.grants,
    unknown: state.unknown,
  })
  return described(changed(begun, { held: merged(archivedOf(archives)), ...archivedOn(begun) }), description)
}

function described(state: SessionState, description: Description): SessionState {
  const { title = state.title, tags = state.tags, owner = state.owner, workspace = state.workspace } = description
  const metadata = patched(state.metadata, description.metadata)
  const policies = patched(state.policies, description.policies)
  return changed(state, { title, tags, owner, workspace, metadata, policies })
}

/** Null removes a field; anything else replaces it whole. */
export function patched(object: JsonObject, patch: JsonObject | undefined): JsonObject {
  if (patch === undefined) return object
  return Object.fromEntries(Object.entries({ ...object, ...patch }).filter(([, value]) => value !== null))
}

function appended(state: SessionState, record: JournalRecord, { at }: Counted): SessionState {
  const { messages, n, t, tokens, left, usage } = payloadOf<MessagesAppended>(record)
  const tip = [at, messages.length - 1] as const
  const head = { at: tip, n: n + messages.length, t: t + tokens }
  const put = record.entries === undefined ? state : withEntries(state, payloadOf<EntryPut>(record), at)
  const counted = usage === undefined ? put : withUsage(put, usage)
  const next = changed(counted, { runs: runsWith(state, record, at), tip, head })
  if (left === undefined) return next
  return changed(next, { undo: [...state.undo, left].slice(-UNDO_STEPS), ...archivedOn(next) })
}

function runsWith({ runs, tip }: SessionState, record: JournalRecord, at: number): readonly Run[] {
  const { n, t, run } = payloadOf<MessagesAppended>(record)
  const parent = record.parent ?? null
  if (isTip({ tip }, parent)) return runs
  // The message before these rotted, and perhaps all that came before it in its run: so they say themselves which run it was.
  const lost = parent !== null && parent[0] > (tip?.[0] ?? -1)
  if (run === undefined || !lost) return [...runs, { at, n, t, parent }]
  return runs.some((known) => known.at === run.at) ? runs : [...runs, run]
}

function headMoved(state: SessionState, record: JournalRecord): SessionState {
  const { to, left, why } = payloadOf<HeadMoved>(record)
  const undo = why === 'undo' ? state.undo.slice(0, -1) : samePoint(to, left) ? state.undo : [...state.undo, left].slice(-UNDO_STEPS)
  return changed(withHead(state, to), { undo })
}

/** The same state on another branch. */
export function withHead(state: SessionState, head: Point): SessionState {
  const next = changed(state, { head })
  return changed(next, archivedOn(next))
}

/** What archives hold of the branch, and whether it has left one of them. */
function archivedOn(state: SessionState): Pick<SessionState, 'archived' | 'cut'> {
  const branch = branchTo(state, state.head)
  const cut = state.archives.some((archive) => !isWhole(archive, branch))
  return { archived: archived(heldOf(branch, state.archives), state.head), cut }
}

/** If archives hold all of a branch, they also hold all of its tokens. */
function archived({ n, t }: Amount, head: Amount): Amount {
  return { n, t: n === head.n ? head.t : Math.min(t, head.t) }
}

/** Of a session whose messages are about to go, nothing is kept but that it was, and whom it has to do with. */
function purged(state: SessionState): SessionState {
  const { status, space, id, born, createdAt, updatedAt, deletedAt, version, parent, grants, unknown } = state
  return changed(INITIAL, { status, space, id, born, createdAt, updatedAt, deletedAt, version, parent, grants, unknown, purged: true })
}

function messageErased(state: SessionState, record: JournalRecord, { at }: Counted): SessionState {
  const { done, lines, archives, dropped, ends } = payloadOf<MessageErased>(record)
  if (done !== undefined) {
    const bodyless = (archive: Archive): Archive => (isAmong(archive, [ends as number]) ? { ...archive, bodyless: true } : archive)
    const erasing = state.erasing.filter((position) => position !== done)
    return changed(state, { erasing, ...(ends === undefined ? {} : { archives: state.archives.map(bodyless) }) })
  }
  const next = changed(state, {
    replaced: state.replaced + 1,
    erasing: [...state.erasing, at],
    erased: state.erased + lines.length,
    archives: state.archives.map((archive) => (isAmong(archive, archives) ? asked(archive, at) : archive)),
  })
  if (dropped.length === 0) return next
  const kept = changed(next, { archives: next.archives.filter(({ session, task: id }) => session === null || !dropped.includes(id)) })
  return changed(kept, { held: merged(archivedOf(kept.archives)), ...archivedOn(kept) })
}

function isAmong({ session, number }: Archive, numbers: readonly number[]): boolean {
  return session === null && numbers.includes(number)
}

/** An archive that begins anew. One that somebody works on, too: what was read for it holds no longer. */
function asked(archive: Archive, at: number): Archive {
  const isOver = archive.status === 'failed' || archive.status === 'cancelled'
  return { ...archive, status: isOver ? archive.status : 'pending', attempts: 0, lease: null, waitMs: 0, ended: null, erased: at }
}

function entryPut(state: SessionState, record: JournalRecord, { at }: Counted): SessionState {
  return withEntries(state, payloadOf<EntryPut>(record), at)
}

function withEntries(state: SessionState, { entries }: EntryPut, at: number): SessionState {
  const channels = new Map(state.channels.map((channel) => [channel.name, channel]))
  for (const { channel } of entries) {
    channels.set(channel, { name: channel, last: at, count: (channels.get(channel)?.count ?? 0) + 1 })
  }
  return changed(state, { channels: [...channels.values()] })
}

function snapshotTaken(state: SessionState, record: JournalRecord): SessionState {
  const { name, point } = payloadOf<SnapshotTaken>(record)
  const others = state.snapshots.filter((snapshot) => snapshot.name !== name)
  return changed(state, { snapshots: [...others, { name, ...point, takenAt: record.at }] })
}

function forkGranted(state: SessionState, record: JournalRecord): SessionState {
  const { session, kind, message } = payloadOf<ForkGranted>(record)
  return changed(state, { grants: [...state.grants, { session, kind, born: state.born, message }] })
}

function forkReleased(state: SessionState, record: JournalRecord): SessionState {
  const released = payloadOf<ForkReleased>(record)
  return changed(state, { grants: state.grants.filter((grant) => !isReleased(grant, released)) })
}

export function isReleased(grant: Pick<Grant, 'session' | 'born'>, { session, born }: ForkReleased): boolean {
  return grant.session === session && (born === undefined || grant.born === born)
}

function commitRequested(state: SessionState, record: JournalRecord, { at }: Counted): SessionState {
  return withArchive(state, payloadOf<CommitRequested>(record), { task: record.id, at, requestedAt: record.at })
}

function withArchive(
  state: SessionState,
  { archive: number, takes, covers, n, t }: Pick<CommitRequested, 'archive' | 'takes' | 'covers' | 'n' | 't'>,
  request: Pick<Archive, 'task' | 'at' | 'requestedAt'>,
): SessionState {
  const archive: Archive = {
    number,
    session: null,
    ...request,
    takes,
    covers,
    n,
    t,
    status: 'pending',
    attempts: 0,
    lease: null,
    waitMs: 0,
    ended: null,
    updatedAt: request.requestedAt,
    retracted: false,
  }
  const held = merged([...state.held, ...takes, ...covers])
  const next = changed(state, { archives: [...state.archives, archive], held })
  if (state.cut || !isWhole(archive, branchTo(state, state.head))) return changed(next, archivedOn(next))
  // As a rule an archive is put behind others on the same branch, and shares nothing with them: how many there are does not matter.
  return changed(next, { archived: archived({ n: state.archived.n + n, t: state.archived.t + t }, state.head) })
}

function commitLeased(state: SessionState, record: JournalRecord, { at }: Counted): SessionState {
  const { attempts, worker, ms } = payloadOf<CommitLeased>(record)
  return task(state, record, { status: 'running', attempts, lease: { worker, at, ms }, waitMs: 0 })
}

function commitFinished(state: SessionState, record: JournalRecord, { at }: Counted): SessionState {
  const finished = payloadOf<CommitFinished>(record)
  const known = state.archives.some(({ number }) => number === finished.archive)
  const asked = known ? state : withArchive(state, finished, { task: finished.task, at, requestedAt: finished.requestedAt ?? record.at })
  const done = task(asked, record, { status: 'completed', attempts: finished.attempts, lease: null, ended: at })
  return finished.usage === undefined ? done : withUsage(done, [{ model: finished.model, ...finished.usage }])
}

function commitFailed(state: SessionState, record: JournalRecord, { at }: Counted): SessionState {
  const { attempts, again, waitMs } = payloadOf<CommitFailed>(record)
  return task(state, record, { status: again ? 'pending' : 'failed', attempts, lease: null, waitMs, ended: at })
}

function task(state: SessionState, record: JournalRecord, change: Partial<Archive>): SessionState {
  const archives = state.archives.map((archive) =>
    archive.number === record.archive ? { ...archive, ...change, updatedAt: record.at } : archive,
  )
  return changed(state, { archives })
}

function usageRecorded(state: SessionState, record: JournalRecord): SessionState {
  return withUsage(state, [payloadOf<UsageRecorded>(record)])
}

function withUsage(state: SessionState, calls: readonly ModelCall[]): SessionState {
  const usage = new Map(state.usage.map((one) => [one.model, { ...one }]))
  for (const { model, inputTokens, outputTokens } of calls) {
    const sum = usage.get(model) ?? { model, calls: 0, inputTokens: 0, outputTokens: 0 }
    // The model that was called last stands last.
    usage.delete(model)
    usage.set(model, sum)
    sum.calls++
    sum.inputTokens += inputTokens
    sum.outputTokens += outputTokens
  }
  return changed(state, { usage: [...usage.values()] })
}

function shareGranted(state: SessionState, record: JournalRecord): SessionState {
  const { share: id, token: digest, point, expiresAt, redact } = payloadOf<ShareGranted>(record)
  const share = { id, digest, ...point, grantedAt: record.at, expiresAt, ...(redact === true ? { redact } : {}) }
  return changed(state, { shares: [...state.shares, share] })
}

function shareRevoked(state: SessionState, record: JournalRecord): SessionState {
  const { share } = payloadOf<ShareRevoked>(record)
  return changed(state, { shares: state.shares.filter(({ id }) => id !== share) })
}
