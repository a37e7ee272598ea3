import { expect, test } from 'vitest'
import type { Appended } from '../store/messages/append.ts'
import type { KeptMessage } from '../store/messages/stored-message.ts'
import type { Window } from '../store/messages/window.ts'
import type { ArchiveInfo, TaskInfo } from '../store/task-info.ts'
import type { TreeNode } from '../store/tree.ts'
import type { Codec } from './codec.ts'
import { appendedCodec, batchCodec, changeCodec, messageCodec, storedMessageCodec } from './messages.ts'
import { treeCodec } from './sessions.ts'
import { commitCodec, taskCodec, wholeArchiveCodec, windowCodec } from './tasks.ts'

const AT = '2026-03-01T10:00:00.000Z'

/** Encodes, sends as JSON and decodes. */
function sentBack<Out, Wire, In>(codec: Codec<Out, Wire, In>, value: In): Out {
  return codec.decode(JSON.parse(JSON.stringify(codec.encode(value))) as Wire)
}

const LIVE: KeptMessage = { id: 'm', at: AT, depth: 3, archive: null, replaced: false, message: { role: 'user', content: 'hi' } }

test('a stored message comes back whole: live, archived, replaced and erased', () => {
  for (const message of [LIVE, { ...LIVE, archive: 12, replaced: true }, { ...LIVE, erased: true as const }])
    expect(sentBack(storedMessageCodec, message)).toStrictEqual(message)
  expect(storedMessageCodec.encode({ ...LIVE, archive: 12 })).toMatchObject({ archived: true, archive_id: 'archive_012', erased: false })
  expect(Object.keys(messageCodec.encode(LIVE))).toEqual(['id', 'at', 'archived', 'archive_id', 'message'])
})

test('an append names its messages and its session, and counts what was added', () => {
  const one: Appended = { ids: ['a'], id: 'a', version: '9-0', duplicate: false, messageCount: 1, pendingTokens: 2 }
  expect(sentBack(appendedCodec, { session: 's', ...one })).toStrictEqual(one)
  const two = { ...one, ids: ['a', 'b'], id: 'b' }
  expect(sentBack(batchCodec, { session: 's', ...two })).toStrictEqual(two)
  expect(batchCodec.encode({ session: 's', ...two })).toMatchObject({ session_id: 's', added: 2, message_ids: ['a', 'b'] })
  expect(batchCodec.encode({ session: 's', ...two, duplicate: true }).added).toBe(0)
})

test('a change sends neither the digest of a token nor its messages twice, and comes back with them', () => {
  const [message] = [{ role: 'user', content: 'hi' }]
  const record = { v: 1, id: 'r', at: AT, type: 'messages.appended', prev: '00000000', messages: [message] }
  const change = { type: 'messages.appended', at: AT, version: '9-0', messages: [{ id: 'm', message }], damage: [], record }
  const encoded = changeCodec.encode({ session: 's', ...change })
  expect(encoded.record).not.toHaveProperty('messages')
  expect(changeCodec.decode(encoded)).toStrictEqual(change)
  const share = { v: 1, id: 'r', at: AT, type: 'share.granted', prev: '00000000', token: 'digest', share: 'x' }
  const granted = changeCodec.encode({ session: 's', ...change, type: 'share.granted', messages: [], record: share })
  expect(JSON.stringify(granted)).not.toContain('digest')
})

test('a change of type damage comes back with its place', () => {
  const place = { position: 7, count: null, reason: 'rotten' } as const
  const record = { v: 1, id: '', at: AT, type: 'damage', prev: '00000000', ...place }
  const change = { type: 'damage', at: AT, version: '9-0', messages: [], damage: [place], record }
  expect(sentBack(changeCodec, { session: 's', ...change })).toStrictEqual(change)
})

test('a task comes back with its result, and its error', () => {
  const pending: TaskInfo = {
    id: 't',
    session: 's',
    archive: 1,
    status: 'pending',
    attempts: 0,
    createdAt: AT,
    updatedAt: AT,
    result: null,
    error: null,
  }
  const result = { abstract: 'a', memories: 3, categories: { profile: 1, preferences: 2 } }
  const failed = { ...pending, status: 'failed', attempts: 3, error: { code: 'UNAVAILABLE', message: 'no' } } as const
  for (const info of [pending, { ...pending, status: 'completed', result } as const, failed])
    expect(sentBack(taskCodec, info)).toStrictEqual(info)
  expect(taskCodec.encode({ ...pending, user: 'eva', status: 'completed', result })).toMatchObject({
    task_type: 'session_commit',
    stage: 'ended',
    created_at: Date.parse(AT) / 1000,
    result: { session_id: 's', archive_uri: 'viking://user/eva/sessions/s/history/archive_001', memories_extracted: { profile: 1 } },
  })
})

test('a commit comes back as accepted with the id of its task, or as skipped with the reason', () => {
  const accepted = { status: 'accepted', task: { id: 't' }, archive: 2, messageCount: 4, duplicate: true } as const
  const skipped = { status: 'skipped', reason: 'all_within_keep_window' } as const
  for (const committed of [accepted, skipped]) expect(sentBack(commitCodec, { session: 's', committed })).toStrictEqual(committed)
  const fields = Object.keys(commitCodec.encode({ session: 's', committed: accepted }))
  expect(Object.keys(commitCodec.encode({ session: 's', committed: skipped }))).toEqual(fields)
})

test('an archive comes back with its memories, with and without a summary', () => {
  const archive: ArchiveInfo = {
    number: 1,
    status: 'completed',
    task: 't',
    messageCount: 2,
    spans: [{ from: 0, to: 2 }],
    tokens: 9,
    createdAt: AT,
    updatedAt: AT,
    attempts: 1,
    abstract: 'a',
    overview: 'o',
    memories: [
      { id: 'x', key: 'k', category: 'profile', text: 'likes tea', sources: ['m'] },
      { id: 'y', key: 'l', category: 'profile', sources: [] },
    ],
    error: null,
  }
  for (const one of [archive, { ...archive, abstract: null, overview: null, memories: [] }])
    expect(sentBack(wholeArchiveCodec, { session: 's', ...one })).toStrictEqual(one)
})

test('a window comes back with everything that it left out', () => {
  const window: Omit<Window<object>, 'damage'> = {
    overview: null,
    abstracts: [{ archive: 1, abstract: 'a' }],
    recalled: [{ kind: 'memory', id: 'x', text: 'likes tea' }],
    messages: [{ role: 'user', content: 'hi' }],
    origins: [{ id: 'm', at: AT }, null],
    tokens: 5,
    leftOut: [
      { kind: 'messages', count: 3, reason: 'budget' },
      { kind: 'result', id: 'm', call: 'c', reason: 'orphan' },
    ],
    stats: { totalArchives: 1, includedArchives: 1, droppedArchives: 0, failedArchives: 0, activeTokens: 5, archiveTokens: 0 },
  }
  for (const one of [window, { ...window, overview: 'o' }]) expect(sentBack(windowCodec, one)).toStrictEqual(one)
  expect(windowCodec.encode(window).latest_archive_overview).toBe('')
})

test('a tree comes back with the sessions below it, and has a field for damage only where there is any', () => {
  const leaf: TreeNode = {
    session: 'b',
    kind: 'fork',
    title: null,
    status: 'damaged',
    version: '1-0',
    message: 'm',
    damage: [{ position: 0, count: null, reason: 'missing' }],
    children: [],
  }
  const root: TreeNode = { ...leaf, session: 'a', kind: 'root', status: 'ok', message: null, damage: [], children: [leaf] }
  expect(sentBack(treeCodec, root)).toStrictEqual(root)
  expect(treeCodec.encode(root)).not.toHaveProperty('damage')
})
