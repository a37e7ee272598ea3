/** Items of a source into one session: what each kind does, what the store refuses, and what a dry run counts. */

import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../../src/errors.ts'
import type { Importer, Item } from '../../src/formats/item.ts'
import { LIMITS } from '../../src/record/limits.ts'
import type { Json, JsonObject } from '../../src/record/record.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import type { ImportedSession, ImportOptions } from '../../src/transfer/import/report.ts'
import { sourceOf } from './fixtures.ts'

type ItemOf<K extends Item['kind']> = Omit<Extract<Item, { kind: K }>, 'kind' | 'session'>

const AT = '2026-03-01T10:00:00.000Z'
const LATER = '2026-03-01T11:00:00.000Z'

let sources = 0

/** Imports items as a new source. */
async function imported(store: Store, items: readonly Item[], options: ImportOptions = {}, name = 'mine'): Promise<ImportedSession[]> {
  const importer: Importer = {
    name,
    recognises: () => true,
    read: async function* () {
      yield items
    },
  }
  const source = sourceOf({ name: 'x.mine', files: { 'x.mine': `source ${sources++}` } })
  const reports: ImportedSession[] = []
  for await (const report of importInto(store, [source], { importers: [importer], ...options })) reports.push(report)
  return reports
}

const begin = (rest: Partial<ItemOf<'session'>> & { readonly session?: string } = {}): Item => ({
  kind: 'session',
  session: 's',
  description: {},
  ...rest,
})
const said = (id: string, rest: Partial<ItemOf<'message'>> = {}): Item => ({
  kind: 'message',
  session: 's',
  id,
  message: { role: 'user', content: id },
  ...rest,
})
const entry = (key: string, rest: Partial<ItemOf<'entry'>> = {}): Item => ({
  kind: 'entry',
  session: 's',
  channel: 'c',
  key,
  value: key,
  ...rest,
})
const archive = (rest: Partial<ItemOf<'archive'>>): Item => ({
  kind: 'archive',
  session: 's',
  key: 'a',
  outcome: { status: 'pending' },
  ...rest,
})
const completed = { status: 'completed', abstract: 'short', overview: 'long' } as const

async function idsOf(session: Session<JsonObject>): Promise<string[]> {
  return (await session.messages({ archived: true, limit: 1000 })).messages.map(({ id }) => id)
}

async function entriesOf(session: Session<JsonObject>): Promise<[key: string, value: Json][]> {
  const entries: [string, Json][] = []
  for await (const { key, value } of session.entries('c')) entries.push([key, value as Json])
  return entries.sort(([a], [b]) => (a < b ? -1 : 1))
}

describe('which session items go into', () => {
  test('a session that is there and has no messages, or of which the source brings none, is the same one', async () => {
    const store = await openStore('memory:')
    await store.create<JsonObject>({ id: 's' })
    expect(await imported(store, [begin(), said('m')])).toMatchObject([{ session: 's', messages: 1 }])
    expect(await imported(store, [begin()])).toMatchObject([{ session: 's', messages: 0 }])
  })

  test('one that has messages of the source is the same; if no import has made it, only messages are added', async () => {
    const store = await openStore('memory:')
    await store.session<JsonObject>('s').append({ id: 'm', role: 'user', content: 'm' })
    const usage = { model: 'm', inputTokens: 1, outputTokens: 2 }
    const items = [begin({ description: { title: 'T' } }), said('m'), said('n', { usage }), entry('e')]
    const [report] = await imported(store, [...items, { kind: 'describe', session: 's', description: { title: 'U' } }])
    expect(report).toMatchObject({ session: 's', messages: 1, skipped: 1, damaged: 0 })
    const session = store.session<JsonObject>('s')
    expect(await idsOf(session)).toEqual(['m', 'n'])
    expect(await entriesOf(session)).toEqual([])
    expect(await session.info()).toMatchObject({ title: null })
    expect(await session.usage()).toEqual([])
  })

  test('one of the same source is the same, although none of its first messages is known', async () => {
    const store = await openStore('memory:')
    await imported(store, [begin(), said('m')])
    expect(await imported(store, [begin(), said('n')])).toMatchObject([{ session: 's', messages: 1 }])
    expect(await idsOf(store.session<JsonObject>('s'))).toEqual(['m', 'n'])
  })

  test('a parent that the store has, or that comes in the same import, is the parent; one that is nowhere is none', async () => {
    const store = await openStore('memory:')
    await store.create<JsonObject>({ id: 'here' })
    const child = (session: string): Item => begin({ session, parent: { session: 'here', kind: 'child' } })
    expect(await imported(store, [child('a')])).toMatchObject([{ session: 'a', healed: [] }])
    expect((await store.session<JsonObject>('a').info()).parent).toMatchObject({ session: 'here', kind: 'child' })
    const both = [begin({ session: 'p' }), begin({ session: 'b', parent: { session: 'p', kind: 'fork' } })]
    expect(await imported(store, both)).toMatchObject([{ healed: [] }, { healed: [] }])
    expect((await store.session<JsonObject>('b').info()).parent).toMatchObject({ session: 'p', kind: 'child' })
    const [alone] = await imported(store, [begin({ session: 'own', parent: { session: 'nowhere', kind: 'fork' } })])
    expect(alone?.healed).toEqual([expect.stringContaining('"nowhere", which is not here')])
    expect((await store.session<JsonObject>('own').info()).parent).toBeNull()
  })

  test('one that names itself as its parent begins on its own', async () => {
    const store = await openStore('memory:')
    const [report] = await imported(store, [begin({ parent: { session: 's', kind: 'fork' } }), said('m')])
    expect(report).toMatchObject({ messages: 1, healed: [expect.stringContaining('begins on its own')] })
    expect((await store.session<JsonObject>('s').info()).parent).toBeNull()
  })

  test('a description that the store refuses is reported, and the messages are imported', async () => {
    const store = await openStore('memory:')
    const tags = Array.from({ length: LIMITS.tags + 1 }, (_, i) => `${i}`)
    const [report] = await imported(store, [begin({ description: { title: 'T', tags } }), said('m')])
    expect(report).toMatchObject({ messages: 1, damaged: 1, damage: [{ reason: expect.stringContaining('Its title, tags or metadata') }] })
    expect(await store.session<JsonObject>('s').info()).toMatchObject({ title: null, tags: [] })
  })

  test('quotas count its session and its bytes', async () => {
    const store = await openStore('memory:', { quotas: true })
    await store.setQuota({ sessions: 1 })
    expect(await imported(store, [begin(), said('m')])).toMatchObject([{ messages: 1 }])
    await expect(imported(store, [begin({ session: 't' })])).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' })
    await store.setQuota({ bytes: 1 })
    await expect(imported(store, [begin(), said('m'), said('n')])).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' })
  })
})

describe('messages', () => {
  test('that no store can take are reported, and the others are imported', async () => {
    const store = await openStore('memory:')
    const [report] = await imported(store, [begin(), said('m'), said('', { recovered: true }), said('n', { recovered: true })])
    expect(report).toMatchObject({
      messages: 2,
      damaged: 1,
      recovered: 2,
      damage: [{ file: 'x.mine', reason: expect.stringContaining('cannot be kept') }],
    })
  })

  test('that this store refuses are reported, all of them if it refuses all', async () => {
    const beforeAppend = (): never => {
      throw new HoldfastError('INVALID_ARGUMENT', 'not here')
    }
    const store = await openStore('memory:', { beforeAppend: (value, { kind }) => (kind === 'message' ? beforeAppend() : value) })
    const [report] = await imported(store, [begin(), said('m'), said('n')])
    expect(report).toMatchObject({ messages: 0, damaged: 2, damage: [{ reason: 'The message "m" cannot be kept: not here' }, {}] })
  })

  test('of a source that is exact follow the one before them there, although the session went on otherwise', async () => {
    const idsAfter = async (exact: boolean): Promise<string[]> => {
      const store = await openStore('memory:')
      const source = (...ids: string[]) => [begin({ exact }), ...ids.map((id) => said(id))]
      await imported(store, source('m', 'n'))
      await store.session<JsonObject>('s').append({ id: 'mine', content: 'mine' })
      // The known ones come in a record of their own, for the next names what it follows.
      const known = [begin({ exact }), said('m'), said('n'), { kind: 'snapshot', session: 's', name: 'x', message: 'n' } as Item]
      await imported(store, [...known, said('o')])
      return idsOf(store.session<JsonObject>('s'))
    }
    expect(await idsAfter(true)).toEqual(['m', 'n', 'o'])
    expect(await idsAfter(false)).toEqual(['m', 'n', 'mine', 'o'])
  })

  test('are counted by a dry run: those that are here, that came twice, and that a parent has, are skipped', async () => {
    const store = await openStore('memory:')
    await imported(store, [begin(), said('m')])
    const dry = { dryRun: true }
    const twice = [said('m'), said('n'), entry('e'), said('n', { after: 'm' })]
    expect(await imported(store, [begin(), ...twice], dry)).toMatchObject([{ session: 's', messages: 1, skipped: 2 }])
    const fork = [
      begin({ session: 'f', parent: { session: 'p', kind: 'fork' } }),
      ...['n', 'o'].map((id) => said(id, { session: 'f' } as object)),
    ]
    const parent = [begin({ session: 'p' }), said('n', { session: 'p' } as object)]
    expect(await imported(store, [...parent, ...fork], dry)).toMatchObject([{ messages: 1 }, { messages: 1, skipped: 1 }])
    expect((await store.list()).sessions.map(({ id }) => id)).toEqual(['s'])
    expect(await entriesOf(store.session<JsonObject>('s'))).toEqual([])
  })
})

describe('entries', () => {
  test('are put once for each key, and stay as they are when they come again', async () => {
    const store = await openStore('memory:')
    const removed: Item = { kind: 'entry', session: 's', channel: 'c', key: 'none' }
    await imported(store, [begin(), entry('a', { value: 1 }), entry('a', { value: 2 }), entry('b', { length: 1 }), removed])
    const session = store.session<JsonObject>('s')
    expect(await entriesOf(session)).toEqual([
      ['a', 1],
      ['b', 'b'],
      ['none', null],
    ])
    await imported(store, [begin(), entry('a', { value: 3 }), entry('z')])
    expect((await entriesOf(session)).map(([key, value]) => [key, value])).toEqual([
      ['a', 1],
      ['b', 'b'],
      ['none', null],
      ['z', 'z'],
    ])
  })

  test('are put while there are more to come: after so many, and after so many bytes', async () => {
    const store = await openStore('memory:')
    const many = Array.from({ length: 600 }, (_, i) => entry(`e${i}`))
    await imported(store, [begin(), ...many])
    expect(await entriesOf(store.session<JsonObject>('s'))).toHaveLength(600)
    const large = 'x'.repeat(150_000)
    await imported(store, [begin(), ...['f', 'g', 'h'].map((key) => entry(key, { value: large, length: large.length }))])
    expect(await entriesOf(store.session<JsonObject>('s'))).toHaveLength(603)
  })

  test('that are too large for a record are reported, and the others are put', async () => {
    const store = await openStore('memory:')
    const tooMuch = entry('large', { value: 'x'.repeat(LIMITS.recordBytes) })
    const [report] = await imported(store, [begin(), entry('a'), tooMuch, entry('b')])
    expect(report).toMatchObject({ damaged: 1, damage: [{ reason: expect.stringContaining('The record "large" cannot be kept') }] })
    expect((await entriesOf(store.session<JsonObject>('s'))).map(([key]) => key)).toEqual(['a', 'b'])
    const [alone] = await imported(store, [begin(), tooMuch])
    expect(alone).toMatchObject({ damaged: 1, damage: [{ reason: expect.stringContaining('The record "large" cannot be kept') }] })
  })
})

describe('everything else', () => {
  test('that this store cannot take is reported, and the rest is imported; any other error ends the import', async () => {
    const store = await openStore('memory:')
    const snapshot = (message: string | null, name: string): Item => ({ kind: 'snapshot', session: 's', name, message })
    const [report] = await imported(store, [begin(), said('m'), snapshot('nowhere', 'x'), snapshot(null, 'y'), said('n')])
    expect(report).toMatchObject({ messages: 2, damaged: 1, damage: [{ reason: expect.stringMatching(/^A snapshot cannot be kept: /) }] })
    expect((await store.session<JsonObject>('s').info()).snapshots).toMatchObject([{ name: 'y', messageCount: 0 }])
    const broken = await openStore('memory:', {
      beforeAppend: (value, { kind }) => {
        if (kind === 'entry') throw new HoldfastError('UNAVAILABLE', 'no disk')
        return value
      },
    })
    await expect(imported(broken, [begin(), entry('e')], {}, 'holdfast')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  test('happens once, and is not repeated when it comes again', async () => {
    const store = await openStore('memory:')
    const items: Item[] = [
      begin(),
      said('m'),
      { kind: 'describe', session: 's', description: { title: 'T' } },
      { kind: 'usage', session: 's', key: 'call', model: 'm', inputTokens: 1, outputTokens: 2 },
      { kind: 'share', session: 's', share: 'h', digest: 'd', expiresAt: null },
      said('n'),
      { kind: 'head', session: 's', to: 'm', why: 'revert', at: AT },
    ]
    await imported(store, items)
    const session = store.session<JsonObject>('s')
    await session.describe({ title: 'Mine' })
    const before = await session.info()
    expect(await idsOf(session)).toEqual(['m'])
    await imported(store, items)
    expect(await session.info()).toEqual(before)
    expect(await session.usage()).toMatchObject([{ calls: 1 }])
    expect(before.shares).toHaveLength(1)
  })

  test('a fork that is named in its parent is made there, once', async () => {
    const store = await openStore('memory:')
    const fork = (child: string, rest: Partial<ItemOf<'fork'>>): Item => ({
      kind: 'fork',
      session: 's',
      child,
      message: null,
      as: 'fork',
      description: { title: child },
      ...rest,
    })
    const items = [
      begin(),
      said('m'),
      fork('f', { message: 'm', at: AT }),
      fork('g', {}),
      fork('c', { message: 'm', as: 'child' }),
      said('n'),
    ]
    for (let again = 0; again < 2; again++) {
      await imported(store, items)
      expect((await store.session<JsonObject>('f').info()).parent).toEqual({ session: 's', kind: 'fork', message: 'm' })
      expect((await store.session<JsonObject>('f').info()).createdAt).toBe(AT)
      for (const id of ['g', 'c'])
        expect((await store.session<JsonObject>(id).info()).parent).toMatchObject({ session: 's', kind: 'child' })
      expect((await store.session<JsonObject>('s').tree()).children).toHaveLength(3)
    }
  })
})

describe('an archive', () => {
  const archivesAfter = async (...items: Item[]) => {
    const store = await openStore('memory:')
    await imported(store, [begin(), ...items])
    return store.session<JsonObject>('s').archives()
  }

  test('takes everything up to its message, or up to the last one; of nothing, there is none', async () => {
    expect(await archivesAfter(said('m'), said('n'), archive({ upTo: 'm', outcome: completed }))).toMatchObject([{ messageCount: 1 }])
    expect(await archivesAfter(said('m'), said('n'), archive({ outcome: completed }))).toMatchObject([{ messageCount: 2 }])
    expect(await archivesAfter(archive({ outcome: { ...completed, retracted: true } }))).toEqual([])
  })

  test('has the summary, the times, the memories and the usage that it had', async () => {
    const usage = { inputTokens: 1, outputTokens: 2 }
    const memories = [{ id: 'i', key: 'k', category: 'c', text: 'Kim prefers trains.', sources: ['m'] }]
    const outcome = { ...completed, model: 'm', usage, memories, owner: 'kim', attempts: 2, endedAt: LATER }
    for (const retracted of [false, true]) {
      const store = await openStore('memory:')
      await imported(store, [begin(), said('m'), archive({ at: AT, outcome: { ...outcome, retracted } })])
      const session = store.session<JsonObject>('s')
      expect(await session.archives()).toMatchObject([{ number: 1, status: 'completed', overview: 'long', abstract: 'short' }])
      expect(await session.usage()).toMatchObject([{ model: 'm', calls: 1, ...usage }])
      expect(await store.tasks({})).toMatchObject([{ createdAt: AT, attempts: 2 }])
      expect(await store.memories({ owner: 'kim' })).toHaveLength(retracted ? 0 : 1)
    }
  })

  test('that waited, failed or was cancelled does so here, once', async () => {
    const error = { code: 'c', message: 'why' }
    const store = await openStore('memory:')
    const items = [
      begin(),
      said('m'),
      archive({ key: 'a', at: AT, outcome: { status: 'failed', error } }),
      said('n'),
      archive({ key: 'b', at: AT, outcome: { status: 'failed', error, attempts: 3, endedAt: LATER } }),
      said('o'),
      archive({ key: 'c', outcome: { status: 'cancelled' } }),
      said('p'),
      archive({ key: 'd', outcome: { status: 'pending' }, task: '01234567-89ab-cdef-0123-456789abcdef' }),
    ]
    for (let again = 0; again < 2; again++) {
      await imported(store, items)
      const tasks = (await store.tasks({})).toSorted((a, b) => a.archive - b.archive)
      expect(tasks).toMatchObject([
        { archive: 1, status: 'failed', attempts: 0, updatedAt: AT },
        { archive: 2, status: 'failed', attempts: 3, updatedAt: LATER },
        { archive: 3, status: 'cancelled' },
        { archive: 4, status: 'pending', id: expect.stringContaining('01234567-89ab-cdef-0123-456789abcdef') },
      ])
    }
  })
})
