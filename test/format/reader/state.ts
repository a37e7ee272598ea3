/** The state of a session: sections "The state" and "Records" of docs/format.md. */
import type { Counted, Journal } from './journal.ts'

type Address = readonly [position: number, index: number]

export interface Point {
  readonly at: Address | null
  readonly n: number
  readonly t: number
}

interface Run {
  readonly at: number
  readonly n: number
  readonly t: number
  readonly parent: Address | null
}

export interface Stretch {
  readonly run: number
  readonly from: number
  readonly to: number
  readonly first: number
  readonly last: number
}

export interface Past extends Stretch {
  readonly session: string
  readonly born: number
  readonly end: number
}

export interface Archive {
  readonly number: number
  readonly session: string | null
  readonly task: string
  readonly at: number
  readonly takes: readonly Stretch[]
  readonly covers: readonly Stretch[]
  readonly n: number
  readonly status: string
  readonly ended: number | null
  readonly retracted: boolean
  readonly [field: string]: unknown
}

interface Gap {
  readonly position: number
  readonly to: number
  readonly reason: string
}

interface Named {
  readonly name: string
  readonly [field: string]: unknown
}

export interface State {
  status: 'absent' | 'live' | 'deleted'
  space: string | null
  id: string | null
  born: number
  createdAt: string
  updatedAt: string
  deletedAt: string | null
  purged: boolean
  version: string
  title: string | null
  tags: readonly string[]
  owner: string | null
  workspace: string | null
  metadata: Readonly<Record<string, unknown>>
  policies: Readonly<Record<string, unknown>>
  parent: { readonly session: string } | null
  past: readonly Past[]
  runs: readonly Run[]
  tip: Address | null
  head: Point
  undo: readonly Point[]
  replaced: number
  erasing: readonly number[]
  erased: number
  archives: readonly Archive[]
  channels: readonly { readonly name: string; readonly last: number; readonly count: number }[]
  snapshots: readonly (Named & Point & { readonly takenAt: string })[]
  shares: readonly { readonly id: string; readonly [field: string]: unknown }[]
  grants: readonly { readonly session: string; readonly kind: string; readonly born: number; readonly message: string | null }[]
  usage: readonly { readonly model: string; readonly calls: number; readonly inputTokens: number; readonly outputTokens: number }[]
  unknown: boolean
  noticed: readonly Gap[]
  accepted: readonly Gap[]
}

function initial(): State {
  return {
    ...{ status: 'absent', space: null, id: null, born: 0, createdAt: '', updatedAt: '', deletedAt: null, purged: false },
    ...{ version: '0-00000000', title: null, tags: [], owner: null, workspace: null, metadata: {}, policies: {} },
    ...{ parent: null, past: [], runs: [], tip: null, head: { at: null, n: 0, t: 0 }, undo: [], replaced: 0, erasing: [], erased: 0 },
    ...{ archives: [], channels: [], snapshots: [], shares: [], grants: [], usage: [], unknown: false, noticed: [], accepted: [] },
  }
}

/** The state of a journal, from the segment with this index on. */
export function stateOf(journal: Journal, start = journal.start): State {
  const segments = journal.segments.slice(start)
  const root = segments[0]?.root?.line.state as object | undefined
  // What follows from the archives is left out: this reader derives it when it needs it.
  const { archived: _, held: _held, cut: _cut, ...known } = { ...(root ?? {}) } as Record<string, unknown>
  const state: State = { ...initial(), ...known }
  const covered = root === undefined ? 0 : (segments[0]?.first ?? 0)
  const counted = segments.flatMap(({ met }) => met.flatMap((one) => (one.kind === 'counted' ? [one.counted] : [])))
  for (const one of counted.filter(({ at }) => at >= covered).sort((a, b) => a.at - b.at)) apply(state, one)
  return state
}

/** Fields of one record, as its section in the document has them. */
type Fields = Readonly<Record<string, unknown>>

const BACKGROUND = [
  ...['commit.leased', 'commit.finished', 'commit.failed', 'usage.recorded', 'fork.granted', 'fork.released'],
  ...['damage.noticed', 'damage.acknowledged', 'segment.sealed'],
]

function apply(state: State, counted: Counted): void {
  const { record, end, crc } = counted
  const effect = EFFECTS[record.type]
  if (effect === undefined) {
    state.unknown = true
    return
  }
  effect(state, record, counted)
  if (BACKGROUND.includes(record.type) || (record.type === 'message.erased' && record.keeps === true)) return
  if (state.status === 'absent') state.status = 'live'
  const changed = (record.order ?? record.at) as string
  if (changed > state.updatedAt) state.updatedAt = changed
  state.version = `${end}-${crc}`
}

const EFFECTS: Readonly<Record<string, (state: State, record: Fields, counted: Counted) => void>> = {
  'session.created': (state, record, { at }) => {
    const past = (record.past ?? []) as Past[]
    const { grants, unknown } = state
    Object.assign(state, initial(), { grants, unknown, status: 'live', space: record.space, id: record.session, born: at })
    state.createdAt = record.at as string
    state.parent = (record.from ?? null) as State['parent']
    state.past = past
    state.head = { at: null, n: past.at(-1)?.to ?? 0, t: (record.tokens ?? 0) as number }
    state.archives = (record.archives ?? []) as Archive[]
    state.replaced = (record.replaced ?? 0) as number
    described(state, record)
  },
  'session.deleted': (state, record) => Object.assign(state, { status: 'deleted', deletedAt: record.at, purged: false }),
  'session.restored': (state) => Object.assign(state, { status: 'live', deletedAt: null }),
  'session.described': described,
  'messages.appended': appended,
  'message.replaced': (state) => {
    state.replaced++
  },
  'message.erased': erased,
  'entry.put': (state, record, { at }) => put(state, record.entries, at),
  'snapshot.taken': (state, record) => {
    const { name, point } = record as { name: string; point: Point }
    const others = state.snapshots.filter((one) => one.name !== name)
    state.snapshots = [...others, { name, ...point, takenAt: record.at as string }]
  },
  'head.moved': (state, record) => {
    const { to, left, why } = record as { to: Point; left: Point; why: string }
    state.head = to
    if (why === 'undo') state.undo = state.undo.slice(0, -1)
    else if (JSON.stringify([to.at, to.n]) !== JSON.stringify([left.at, left.n])) state.undo = [...state.undo, left].slice(-100)
  },
  'fork.granted': (state, record) => {
    const { session, kind, message } = record as State['grants'][number]
    state.grants = [...state.grants, { session, kind, born: state.born, message }]
  },
  'fork.released': (state, { session, born }) => {
    state.grants = state.grants.filter((one) => one.session !== session || (born !== undefined && one.born !== born))
  },
  'commit.requested': (state, record, { at }) => archived(state, record, record.id as string, at, record.at as string),
  'commit.leased': (state, record, { at }) => {
    const { attempts, worker, ms } = record
    task(state, record, { status: 'running', attempts, lease: { worker, at, ms }, waitMs: 0 })
  },
  'commit.finished': (state, record, { at }) => {
    if (!state.archives.some(({ number }) => number === record.archive))
      archived(state, record, record.task as string, at, (record.requestedAt ?? record.at) as string)
    task(state, record, { status: 'completed', attempts: record.attempts, lease: null, ended: at })
    if (record.usage !== undefined) used(state, [{ model: record.model, ...(record.usage as object) }])
  },
  'commit.failed': (state, record, { at }) => {
    const { attempts, again, waitMs } = record
    task(state, record, { status: again === true ? 'pending' : 'failed', attempts, lease: null, waitMs, ended: at })
  },
  'commit.cancelled': (state, record, { at }) => task(state, record, { status: 'cancelled', lease: null, ended: at }),
  'memories.retracted': (state, record) => task(state, record, { retracted: true }),
  'usage.recorded': (state, record) => used(state, [record]),
  'share.granted': (state, record) => {
    const { share: id, token: digest, point, expiresAt, redact } = record
    const share = { id: id as string, digest, ...(point as Point), grantedAt: record.at, expiresAt, ...(redact === true ? { redact } : {}) }
    state.shares = [...state.shares, share]
  },
  'share.revoked': (state, { share }) => {
    state.shares = state.shares.filter(({ id }) => id !== share)
  },
  'damage.noticed': (state, { gaps }) => {
    const all = [...state.noticed, ...(gaps as Gap[])]
    const [last, ...rest] = all.slice(99)
    const to = Math.max(...rest.map((gap) => gap.to), last?.to ?? 0)
    state.noticed = last === undefined ? all : [...all.slice(0, 99), { ...last, to }]
  },
  'damage.acknowledged': acknowledged,
  'segment.sealed': (state, { why }) => {
    if (why !== 'purge' || state.status !== 'deleted') return
    const { status, space, id, born, createdAt, updatedAt, deletedAt, version, parent, grants, unknown } = state
    const kept = { status, space, id, born, createdAt, updatedAt, deletedAt, version, parent, grants, unknown }
    Object.assign(state, initial(), kept, { purged: true })
  },
}

function described(state: State, record: Fields): void {
  for (const field of ['title', 'tags', 'owner', 'workspace'] as const)
    if (record[field] !== undefined) Object.assign(state, { [field]: record[field] })
  for (const field of ['metadata', 'policies'] as const) {
    const both = { ...state[field], ...((record[field] ?? {}) as object) }
    state[field] = Object.fromEntries(Object.entries(both).filter(([, value]) => value !== null))
  }
}

function appended(state: State, record: Fields, { at }: Counted): void {
  const { messages, n, t, tokens, left, usage, entries, run } = record as {
    readonly messages: readonly unknown[]
    readonly [field: string]: unknown
  } & { n: number; t: number; tokens: number; left?: Point; run?: Run }
  const parent = (record.parent ?? null) as Address | null
  const isTip = parent !== null && state.tip !== null && parent.join() === state.tip.join()
  const isLost = parent !== null && parent[0] > (state.tip?.[0] ?? -1)
  if (!isTip && (run === undefined || !isLost)) state.runs = [...state.runs, { at, n, t, parent }]
  else if (!isTip && run !== undefined && !state.runs.some((known) => known.at === run.at)) state.runs = [...state.runs, run]
  state.tip = [at, messages.length - 1]
  state.head = { at: state.tip, n: n + messages.length, t: t + tokens }
  if (left !== undefined) state.undo = [...state.undo, left].slice(-100)
  if (entries !== undefined) put(state, entries, at)
  if (usage !== undefined) used(state, usage as Fields[])
}

function erased(state: State, record: Fields, { at }: Counted): void {
  const { done, lines, archives, dropped, ends } = record as {
    done?: number
    lines: unknown[]
    archives: number[]
    dropped: string[]
    ends?: number
  }
  if (done !== undefined) {
    state.erasing = state.erasing.filter((position) => position !== done)
    const isEnded = ({ session, number }: Archive) => session === null && number === ends
    state.archives = state.archives.map((archive) => (isEnded(archive) ? { ...archive, bodyless: true } : archive))
    return
  }
  state.replaced++
  state.erasing = [...state.erasing, at]
  state.erased += lines.length
  const again = { attempts: 0, lease: null, waitMs: 0, ended: null, erased: at }
  state.archives = state.archives
    .map((archive) => {
      if (archive.session !== null || !archives.includes(archive.number)) return archive
      const isOver = archive.status === 'failed' || archive.status === 'cancelled'
      return { ...archive, status: isOver ? archive.status : 'pending', ...again }
    })
    .filter(({ session, task: id }) => session === null || !dropped.includes(id))
}

function archived(state: State, record: Fields, id: string, at: number, requestedAt: string): void {
  const { archive: number, takes, covers, n, t } = record as { archive: number; takes: Stretch[]; covers: Stretch[]; n: number; t: number }
  const about = { number, session: null, task: id, at, requestedAt, takes, covers, n, t }
  const work = { status: 'pending', attempts: 0, lease: null, waitMs: 0, ended: null, updatedAt: requestedAt, retracted: false }
  state.archives = [...state.archives, { ...about, ...work }]
}

function task(state: State, record: Fields, change: Fields): void {
  const isIt = ({ number }: Archive) => number === record.archive
  state.archives = state.archives.map((archive) => (isIt(archive) ? { ...archive, ...change, updatedAt: record.at } : archive))
}

function put(state: State, entries: unknown, at: number): void {
  for (const { channel } of entries as { channel: string }[]) {
    const known = state.channels.find(({ name }) => name === channel)
    const now = { name: channel, last: at, count: (known?.count ?? 0) + 1 }
    state.channels = known === undefined ? [...state.channels, now] : state.channels.map((one) => (one === known ? now : one))
  }
}

function used(state: State, calls: readonly Fields[]): void {
  for (const { model, inputTokens, outputTokens } of calls as State['usage']) {
    const sum = state.usage.find((one) => one.model === model) ?? { calls: 0, inputTokens: 0, outputTokens: 0 }
    const total = { calls: sum.calls + 1, inputTokens: sum.inputTokens + inputTokens, outputTokens: sum.outputTokens + outputTokens }
    state.usage = [...state.usage.filter((one) => one.model !== model), { model, ...total }]
  }
}

/** Which findings of the doctor are losses, and why. */
const REASONS: Readonly<Record<string, string>> = {
  ...{ rotten: 'rotten', 'lost-page': 'zeros', 'missing-record': 'missing', 'missing-message': 'missing' },
  ...{ 'missing-segment': 'missing', 'cut-short': 'missing' },
}

function acknowledged(state: State, record: Fields, { end, crc }: Counted): void {
  const { findings, gaps = [] } = record as { findings: { kind: string; segment: number; offset: number; length: number }[]; gaps?: Gap[] }
  if (state.id === null && record.space !== undefined && record.session !== undefined) {
    Object.assign(state, { space: record.space, id: record.session })
    const begun = { status: 'live', createdAt: record.at, updatedAt: record.at, version: `${end}-${crc}` }
    if (state.status === 'absent') Object.assign(state, begun)
  }
  const found = findings.flatMap(({ kind, segment, offset, length }) => {
    const reason = REASONS[kind]
    if (reason === undefined || segment === null || offset === null) return []
    return [{ position: segment + offset, to: segment + offset + (length ?? 0), count: null, reason, since: null }]
  })
  const isKnown = ({ position, to }: Gap) => state.accepted.some((known) => known.position === position && known.to === to)
  state.accepted = [...state.accepted, ...[...gaps, ...found].filter((gap) => !isKnown(gap))].slice(-1000)
}
