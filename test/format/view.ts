/** What a store holds, twice: as the library returns it, and as the reader of docs/format.md finds it. Both have the same shape, to be compared. */
import type { Session, SessionInfo, Store, StoredMessage } from '../../src/index.ts'
import { damagedLines } from './reader/damage.ts'
import { branchTo, type Message } from './reader/messages.ts'
import type { State } from './reader/state.ts'
import type { FoundSession, StoreReader } from './reader/store.ts'

type View = Readonly<Record<string, unknown>>

const PAGE = { archived: true, limit: 1000 } as const

/** Every session of a space that was not purged, by its id, as the library returns it. `found`: whose branches and channels to ask for. */
export async function viewOfLibrary(store: Store, found: readonly FoundSession[]): Promise<View> {
  const pages = await Promise.all([store.list({ limit: 1000 }), store.list({ limit: 1000, status: 'deleted' })])
  const view: Record<string, unknown> = {}
  for (const { id } of pages.flatMap(({ sessions }) => sessions)) {
    const one = found.find(({ state }) => state.id === id)
    if (one === undefined) view[id] = 'not found by the reader'
    else if (!one.state.purged) view[id] = await sessionOfLibrary(store.session(id), one)
  }
  return asJson(view)
}

async function sessionOfLibrary(session: Session, found: FoundSession): Promise<View> {
  if (found.state.status === 'deleted') return { about: aboutOfLibrary(await session.info()), records: await recordsOfLibrary(session) }
  const { messages } = await session.messages(PAGE)
  const entries: [string, unknown][] = []
  for (const { name } of found.state.channels) {
    const channel = []
    for await (const { key, value } of session.entries(name)) channel.push({ key, value })
    entries.push([name, channel])
  }
  const branches = []
  for (const { id } of branchEnds(found)) branches.push((await session.messages({ ...PAGE, branch: id })).messages.map(shown))
  const archives = await session.archives()
  return {
    about: aboutOfLibrary(await session.info()),
    messages: messages.map(shown),
    live: (await session.messages({ limit: 1000 })).messages.map(({ id }) => id),
    branches,
    revisions: await Promise.all(messages.map(async ({ id }) => (await session.revisions(id)).revisions.map(({ message }) => message))),
    archives: await Promise.all(
      archives.map(async ({ number, status, messageCount, abstract, overview, memories, error }) => {
        const held = (await session.archive(number))?.messages.map(shown)
        return { number, status, messageCount, abstract, overview, memories, error, messages: held }
      }),
    ),
    usage: await session.usage(),
    // Only watermarks show what vanished.
    damage: (await session.damage()).flatMap(({ segment, offset, kind }) => (kind === 'vanished' ? [] : [[segment + offset, kind]])),
    entries,
    records: await recordsOfLibrary(session),
  }
}

function aboutOfLibrary(info: SessionInfo): View {
  const { commitCount, totalTokens, messageCount, totalMessageCount, canUndo, snapshots, shares, pendingTokens: _, ...described } = info
  const counts = { commitCount, totalTokens, messageCount, totalMessageCount, canUndo }
  return { ...described, ...counts, snapshots: snapshots.map(({ name, takenAt, messageCount: n }) => ({ name, takenAt, n })), shares }
}

/** The records that count, but for seals, the last one first. */
async function recordsOfLibrary(session: Session): Promise<unknown[]> {
  const all: unknown[] = []
  for (let before: number | undefined; ; ) {
    const page = await session.recordPage({ limit: 1000, ...(before === undefined ? {} : { before }) })
    all.push(...page.records.map(({ position, record }) => [position, record.type, record.id]))
    if (page.before === null) return all
    before = page.before
  }
}

function shown({ id, at, depth, archive, replaced, erased, message }: StoredMessage): unknown {
  return { id, at, depth, archive, replaced, ...(erased === true ? { erased } : {}), message }
}

/** The same, as the reader finds it. */
export function viewOfReader(found: readonly FoundSession[]): View {
  const sessions = found.filter(({ state }) => !state.purged && state.status !== 'absent')
  return asJson(Object.fromEntries(sessions.map((one) => [one.state.id as string, sessionOfReader(one)])))
}

export function sessionsIn(reader: StoreReader, space = 'default'): FoundSession[] {
  return reader.names(space).map((name) => reader.read(name))
}

function sessionOfReader(found: FoundSession): View {
  const { state, messages } = found
  const about = aboutOfReader(found)
  if (state.status === 'deleted') return { about, records: recordsOfReader(found) }
  const branch = messages.onBranch()
  return {
    about,
    messages: branch,
    live: branch.filter((message) => message.archive === null).map(({ id }) => id),
    branches: branchEnds(found).map(({ point }) => messages.onBranch(point)),
    revisions: branch.map(({ id }) => messages.revisions(id)),
    archives: messages
      .archives()
      .map((archive, i) => ({ ...archive, messages: messages.messagesOf(state.archives[i] as State['archives'][number]) })),
    usage: state.usage,
    damage: damagedLines(found.journal).map(({ at, as }) => [at, as]),
    entries: state.channels.map(({ name }) => [name, messages.entries(name)]),
    records: recordsOfReader(found),
  }
}

function aboutOfReader({ state, messages, isDamaged }: FoundSession): View {
  const { id, version, title, tags, owner, workspace, metadata, policies, createdAt, updatedAt, deletedAt, parent, head } = state
  const alive = isDamaged ? 'damaged' : 'ok'
  const described = { id, version, title, tags, owner, workspace, metadata, policies, createdAt, updatedAt, deletedAt, parent }
  const counts = { commitCount: state.archives.length, totalTokens: head.t, messageCount: messages.liveCount, totalMessageCount: head.n }
  return {
    ...described,
    ...counts,
    status: state.status === 'deleted' ? 'deleted' : alive,
    canUndo: state.undo.length > 0,
    snapshots: state.snapshots.map(({ name, takenAt, n }) => ({ name, takenAt, n })),
    shares: state.shares.map(({ id: share, grantedAt, expiresAt, n }) => ({ id: share, grantedAt, expiresAt, messageCount: n })),
  }
}

function recordsOfReader({ journal }: FoundSession): unknown[] {
  const records = journal.between(0, Number.POSITIVE_INFINITY).filter(({ record }) => record.type !== 'segment.sealed')
  return records.map(({ at, record }) => [at, record.type, record.id]).reverse()
}

/** The last message of each record, with its point: the branch that ends there is one that a caller may ask for. */
function branchEnds({ journal, state }: FoundSession): { id: string; point: State['head'] }[] {
  const ends = journal.between(state.born, Number.POSITIVE_INFINITY).filter(({ record }) => record.type === 'messages.appended')
  return ends.flatMap(({ record, at }) => {
    const { messages, ids, n, t } = record as unknown as { messages: Message[]; ids?: (string | null)[]; n: number; t: number }
    const last = messages.length - 1
    const point = { at: [at, last] as const, n: n + messages.length, t }
    const id = ids?.[last] ?? (last === 0 ? record.id : `${record.id}.${last}`)
    return branchTo(state, point).length === 0 ? [] : [{ id, point }]
  })
}

/** Without what is undefined. */
function asJson(view: View): View {
  return JSON.parse(JSON.stringify(view)) as View
}
