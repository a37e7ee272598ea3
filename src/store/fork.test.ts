import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Engine } from '../engine/port.ts'
import { openMemoryEngine } from '../engines/memory/engine.ts'
import { HoldfastError } from '../errors.ts'
import type { JsonObject } from '../record/record.ts'
import { sessionReducer } from '../session/reducer.ts'
import { Transcript } from './messages/transcript.ts'
import { openStore } from './open-store.ts'
import type { Session } from './session.ts'
import type { Store } from './store.ts'

let engine: Engine
let store: Store
let parent: Session<JsonObject>

beforeEach(async () => {
  engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  store = await openStore(engine, { limits: { segmentBytes: 500 } })
  parent = store.session<JsonObject>('parent')
  await parent.append(
    [1, 2, 3, 4].map((n) => ({ n })),
    { ids: ['m1', 'm2', 'm3', 'm4'] },
  )
})

afterEach(() => store.close())

async function contents(session: Session<JsonObject>): Promise<unknown[]> {
  const { messages } = await session.messages({ limit: 1000 })
  return messages.map(({ message }) => message.n)
}

describe('a call that was made before the fork', () => {
  test('is known in the fork if all its messages are, and answered with their ids', async () => {
    const first = await parent.append([{ n: 5 }, { n: 6 }], { key: 'call' })
    const fork = await parent.fork()
    expect(await fork.append([{ n: 5 }, { n: 6 }], { key: 'call' })).toMatchObject({ duplicate: true, ids: first.ids })
    expect(await contents(fork)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('is not known in a fork that begins before its messages: they would be missing there', async () => {
    await parent.append({ n: 5 }, { key: 'call' })
    const fork = await parent.fork({ at: 'm4' })
    expect(await fork.append({ n: 5 }, { key: 'call' })).toMatchObject({ duplicate: false })
    expect(await contents(fork)).toEqual([1, 2, 3, 4, 5])
  })

  test('is not known in a fork that begins between its messages', async () => {
    const { ids } = await parent.append([{ n: 5 }, { n: 6 }], { key: 'call' })
    const fork = await parent.fork({ at: ids[0] as string })
    expect(await fork.append([{ n: 5 }, { n: 6 }], { key: 'call' })).toMatchObject({ duplicate: false })
    expect(await contents(fork)).toEqual([1, 2, 3, 4, 5, 5, 6])
  })

  test('is not known if it did what a fork does not inherit', async () => {
    await parent.putEntries([{ channel: 'c', key: 'k', value: 1 }], { key: 'put' })
    await parent.snapshot('here', { key: 'snapshot' })
    await parent.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 1 }, { key: 'usage' })
    const fork = await parent.fork()
    expect(await fork.putEntries([{ channel: 'c', key: 'k', value: 1 }], { key: 'put' })).toMatchObject({ duplicate: false })
    expect(await fork.entry('c', 'k')).toMatchObject({ value: 1 })
    expect(await fork.snapshot('here', { key: 'snapshot' })).toMatchObject({ duplicate: false })
    expect(await fork.recordUsage({ model: 'm', inputTokens: 1, outputTokens: 1 }, { key: 'usage' })).toMatchObject({ duplicate: false })
  })

  test('is known in a fork of a fork, and after its session was created anew twice', async () => {
    const first = await parent.append({ n: 5 }, { key: 'call' })
    const grandchild = await (await parent.fork()).fork()
    for (const n of [6, 7]) {
      await parent.delete()
      parent = await store.create<JsonObject>({ id: 'parent' })
      await parent.append({ n }, { key: 'call', ids: [first.id] })
    }
    expect(await grandchild.append({ n: 5 }, { key: 'call' })).toMatchObject({ duplicate: true, ids: first.ids })
    expect(await grandchild.append({ n: 3 }, { ids: ['m3'] })).toMatchObject({ duplicate: true })
    expect(await contents(grandchild)).toEqual([1, 2, 3, 4, 5])
    expect(await grandchild.message(first.id)).toMatchObject({ depth: 5, message: { n: 5 } })
  })
})

describe('a message that was replaced', () => {
  test('has in a fork the content that it had when it was forked, and can be replaced there', async () => {
    await parent.replace('m2', { n: 'first' })
    const fork = await parent.fork()
    await parent.replace('m2', { n: 'later' })
    expect(await contents(fork)).toEqual([1, 'first', 3, 4])
    await fork.replace('m2', { n: 'own' })
    expect(await contents(fork)).toEqual([1, 'own', 3, 4])
    expect(await contents(parent)).toEqual([1, 'later', 3, 4])
    expect((await fork.revisions('m2')).revisions.map(({ message }) => message.n)).toEqual([2, 'first', 'own'])
    expect((await parent.revisions('m2')).revisions.map(({ message }) => message.n)).toEqual([2, 'first', 'later'])
  })

  test('has it in a fork of a fork that replaced it and wrote nothing else', async () => {
    const fork = await parent.fork()
    await fork.replace('m2', { n: 'by the fork' })
    const atHead = await fork.fork()
    const atMessage = await fork.fork({ at: 'm3' })
    const ofThat = await atMessage.fork({ at: 'm2' })
    await fork.replace('m2', { n: 'later' })
    expect(await contents(atHead)).toEqual([1, 'by the fork', 3, 4])
    expect(await contents(atMessage)).toEqual([1, 'by the fork', 3])
    expect(await contents(ofThat)).toEqual([1, 'by the fork'])
    expect((await ofThat.revisions('m2')).revisions.map(({ message }) => message.n)).toEqual([2, 'by the fork'])
  })

  test('does not lend its content to a message of the fork with the same id', async () => {
    await parent.replace('m4', { n: 'the other' })
    const fork = await parent.fork({ at: 'm3' })
    await fork.append({ n: 'mine' }, { ids: ['m4'] })
    expect(await contents(fork)).toEqual([1, 2, 3, 'mine'])
    expect(await fork.message('m4')).toMatchObject({ replaced: false, message: { n: 'mine' } })
    expect((await fork.revisions('m4')).revisions).toHaveLength(1)
  })
})

describe('a grant', () => {
  test('stays, if another caller made the fork on the strength of it', async () => {
    const other = await openStore(engine)
    const theirs = other.session<JsonObject>('parent')
    const both = await Promise.allSettled([parent.fork({ id: 'fork' }), theirs.fork({ id: 'fork' })])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await parent.delete()
    const actions: string[] = []
    for await (const { session, action } of store.purge({ olderThanMs: -1000 })) actions.push(`${session} ${action}`)
    expect(actions).toEqual(['parent kept'])
    expect(await contents(store.session<JsonObject>('fork'))).toEqual([1, 2, 3, 4])
  })

  test('is taken back if there is a session of that name', async () => {
    await store.create<JsonObject>({ id: 'taken' })
    await expect(parent.fork({ id: 'taken' })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
    await parent.delete()
    const actions: string[] = []
    for await (const { session, action } of store.purge({ olderThanMs: -1000 })) actions.push(`${session} ${action}`)
    expect(actions).toEqual(['parent purged'])
  })

  test('that nobody used is not in the tree, nor is a session that was created anew as something else', async () => {
    const fork = await parent.fork({ id: 'fork', title: 'a fork' })
    await fork.child({ id: 'child' })
    await parent.fork({ id: 'gone' })
    await store.session<JsonObject>('gone').delete()
    await store.create<JsonObject>({ id: 'gone' })
    // As if the process had died between the grant and the fork.
    const journal = engine.journal(engine.name('default', 'never made'))
    vi.spyOn(journal, 'append').mockRejectedValue(new HoldfastError('UNAVAILABLE', 'made by the test', { outcome: 'unknown' }))
    vi.spyOn(engine, 'journal').mockReturnValueOnce(journal)
    await expect(parent.fork({ id: 'never made' })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(await parent.tree()).toMatchObject({
      session: 'parent',
      kind: 'root',
      title: null,
      status: 'ok',
      message: null,
      children: [
        {
          session: 'fork',
          kind: 'fork',
          title: 'a fork',
          status: 'ok',
          message: null,
          children: [{ session: 'child', kind: 'child', title: null, status: 'ok', message: null, children: [] }],
        },
      ],
    })
  })
})

test('a fork repeated under its key is one session, wherever its parent has gone meanwhile', async () => {
  const first = await parent.fork({ key: 'k', title: 't' })
  await parent.append({ n: 5 })
  expect((await parent.fork({ key: 'k', title: 't' })).id).toBe(first.id)
  await expect(parent.fork({ key: 'k', title: 'other' })).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await contents(first)).toEqual([1, 2, 3, 4])
})

test.each([
  ['revert', (session: Session<JsonObject>) => session.revert({ message: 'm2' })],
  ['append', (session: Session<JsonObject>) => session.append({ n: 5 }, { parent: 'm2' })],
  ['snapshot', (session: Session<JsonObject>) => session.snapshot('x', { at: 'm2' })],
  ['replace', (session: Session<JsonObject>) => session.replace('m2', { n: 5 })],
  ['fork', (session: Session<JsonObject>) => session.fork({ at: 'm2', id: 'fork' })],
])('%s: a place that was looked up in a former incarnation is refused, and harms nothing', async (_, work) => {
  const locate = Transcript.prototype.locate
  vi.spyOn(Transcript.prototype, 'locate').mockImplementationOnce(async function (this: Transcript, id) {
    const located = await locate.call(this, id)
    await parent.delete()
    await store.create<JsonObject>({ id: 'parent' })
    return located
  })
  await expect(work(parent)).rejects.toMatchObject({ code: 'CONFLICT', details: { reason: 'created anew' } })
  expect(await store.session<JsonObject>('parent').info()).toMatchObject({ messageCount: 0, snapshots: [], canUndo: false })
  expect((await store.list()).sessions.map(({ id }) => id)).toEqual(['parent'])
})
