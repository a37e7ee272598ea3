/** The golden stores, of every format that was released: the reader finds what they said when they were made. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { STORES } from '../golden/stores.ts'
import { ROOT } from '../tidy/sources.ts'
import { type FoundSession, StoreReader } from './reader/store.ts'
import { sessionsIn } from './view.ts'

/** As test/golden/tell.ts puts it into words. */
function told(found: FoundSession): unknown {
  const { state, messages, isDamaged } = found
  const { title, tags, owner, workspace, metadata, createdAt, deletedAt, parent } = state
  const alive = isDamaged ? 'damaged' : 'ok'
  const status = state.status === 'deleted' ? 'deleted' : alive
  const about = { status, title, tags, owner, workspace, metadata, createdAt, deletedAt, parent: parent?.session ?? null }
  if (status === 'deleted') return about
  const branch = messages.onBranch()
  return {
    ...about,
    messageCount: messages.liveCount,
    totalMessageCount: state.head.n,
    canUndo: state.undo.length > 0,
    snapshots: state.snapshots.map(({ name, n }) => ({ name, messageCount: n })),
    shares: state.shares.map(({ id }) => id),
    messages: branch,
    revised: branch.filter(({ replaced }) => replaced).map(({ id }) => messages.revisions(id)),
    archives: messages.archives().map(({ status: task, memories, error, ...rest }) => {
      const texts = (memories as { text?: string }[]).map(({ text }) => text)
      return { ...rest, task, memories: texts, error: (error as { message: string } | null)?.message }
    }),
    usage: state.usage,
    entries: messages.entries('golden'),
  }
}

test.each(readdirSync(join(ROOT, STORES)))('the reader finds what the golden store %s said when it was made', (name) => {
  const home = join(ROOT, STORES, name)
  const keyFile = join(home, 'master.key')
  const reader = new StoreReader(join(home, 'store'), existsSync(keyFile) ? readFileSync(keyFile, 'utf8').trim() : undefined)
  const sessions = ['default', 'other'].flatMap((space) => sessionsIn(reader, space)).filter(({ state }) => !state.purged)
  const found = Object.fromEntries(sessions.map((one) => [`${one.state.space}/${one.state.id}`, told(one)]))
  expect(JSON.parse(JSON.stringify(found))).toEqual(JSON.parse(readFileSync(join(home, 'told.json'), 'utf8')))
  expect(reader.identity.holdfast).toBe(Number(/format-(\d)/.exec(name)?.[1]))
})
