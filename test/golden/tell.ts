/** What a golden store says, in words that do not change: named fields only, so that a later version may tell more. */
import type { SessionInfo } from '../../src/session/info.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'

const SPACES = ['default', 'other']

export async function tell(store: Store): Promise<unknown> {
  const told: Record<string, unknown> = {}
  for (const space of SPACES) {
    const inside = store.in(space)
    const pages = await Promise.all([inside.list({ limit: 1000 }), inside.list({ limit: 1000, status: 'deleted' })])
    const infos = pages.flatMap(({ sessions }) => sessions).sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const info of infos) told[`${space}/${info.id}`] = await tellSession(info, inside.session(info.id))
  }
  // As JSON has it: what is undefined is not there.
  return JSON.parse(JSON.stringify(told))
}

export async function tellSession(info: SessionInfo, session: Session): Promise<unknown> {
  const { status, title, tags, owner, workspace, metadata, createdAt, deletedAt, parent } = info
  const about = { status, title, tags, owner, workspace, metadata, createdAt, deletedAt, parent: parent?.session ?? null }
  if (status === 'deleted') return about
  const { messages } = await session.messages({ limit: 1000, archived: true })
  const entries = []
  for await (const { key, value } of session.entries('golden')) entries.push({ key, value })
  return {
    ...about,
    messageCount: info.messageCount,
    totalMessageCount: info.totalMessageCount,
    canUndo: info.canUndo,
    snapshots: info.snapshots.map(({ name, messageCount }) => ({ name, messageCount })),
    shares: info.shares.map(({ id }) => id),
    messages: messages.map(({ id, at, depth, archive, replaced, erased, message }) => ({
      id,
      at,
      depth,
      archive,
      replaced,
      erased,
      message,
    })),
    revised: (await Promise.all(messages.filter(({ replaced }) => replaced).map(({ id }) => session.revisions(id)))).map(({ revisions }) =>
      revisions.map(({ message }) => message),
    ),
    archives: (await session.archives()).map(({ number, status: task, messageCount, abstract, overview, memories, error }) => ({
      number,
      task,
      messageCount,
      abstract,
      overview,
      memories: memories.map(({ text }) => text),
      error: error?.message,
    })),
    usage: await session.usage(),
    entries,
  }
}
