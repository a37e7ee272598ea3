/** Every answer of the library about a damaged session says what it lacks. */
import { rm } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { extractive } from '../../src/commit/models/extractive.ts'
import { Worker } from '../../src/commit/worker.ts'
import { acknowledge } from '../../src/session/decide.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import { Handle } from '../../src/store/handle.ts'
import type { Session } from '../../src/store/session.ts'
import type { Store } from '../../src/store/store.ts'
import { EXPORT_FORMATS, exportFrom } from '../../src/transfer/export/export.ts'
import { useDirectory } from './directory.ts'
import { linesOf, rot, segmentsOf, type WrittenLine } from './spoil.ts'

const directory = useDirectory()
const SMALL = { limits: { segmentBytes: 4000 } }

async function say(session: Session, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i += 2) {
    await session.append(
      [
        { role: 'user', content: `question ${i}`.padEnd(60, '.') },
        { role: 'assistant', content: `answer ${i}`.padEnd(60, '.') },
      ],
      { ids: [`u${i}`, `a${i}`] },
    )
  }
}

/** Two archives with summaries, live messages, a title and a fork. */
async function write(): Promise<void> {
  const store = await directory().open(SMALL)
  const session = store.session('s')
  const worker = new Worker(store, { model: extractive })
  await say(session, 0, 20)
  await session.commit()
  await worker.drain()
  await say(session, 20, 40)
  await session.commit()
  await worker.drain()
  await session.describe({ title: 'title' })
  await say(session, 40, 60)
  const fork = await session.fork({ id: 'fork' })
  await say(fork, 60, 64)
  await store.close()
}

async function lineOf(which: (line: WrittenLine) => boolean, session = 's'): Promise<WrittenLine> {
  return (await linesOf(directory().path, session)).find(which) as WrittenLine
}

const lineWith = (id: string, session = 's'): Promise<WrittenLine> => lineOf(({ ids }) => ids.includes(id), session)

/** Spoils a record that is written twice. Returns its first copy. */
async function rotBothCopies(wanted: string): Promise<WrittenLine> {
  const [first, second] = (await linesOf(directory().path, 's')).filter(({ type }) => type === wanted) as [WrittenLine, WrittenLine]
  for (const copy of [first, second]) await rot(copy)
  return first
}

async function open(): Promise<Store> {
  return directory().open(SMALL)
}

beforeEach(write)

describe('a window', () => {
  test('has no damage where nothing is damaged', async () => {
    const window = await (await open()).session('s').window()
    expect(window).toMatchObject({ damage: [], leftOut: [] })
  })

  test('says that messages are missing because they are damaged, and not for want of room', async () => {
    const line = await lineWith('u50')
    await rot(line)
    const window = await (await open()).session('s').window()
    expect(window.damage).toMatchObject([{ position: line.position, count: 2, reason: 'rotten' }])
    expect(window.leftOut).toEqual([{ kind: 'messages', count: 2, reason: 'damaged' }])
    expect(window.messages).toHaveLength(18)
  })

  test('counts each live message once: as shown, as left out for want of room, or as damaged', async () => {
    await rot(await lineWith('u56'))
    const { leftOut, messages } = await (await open()).session('s').window({ budget: 60, countTokens: () => 10 })
    const left = (reason: string): number =>
      leftOut
        .filter((one) => one.reason === reason && one.kind.startsWith('message'))
        .reduce((sum, one) => sum + ('count' in one ? (one.count ?? 0) : 1), 0)
    expect(left('damaged')).toBe(2)
    expect(left('budget')).toBeGreaterThan(2)
    expect(messages.length + left('budget') + left('damaged')).toBe(20)
  })

  test('says that what followed the newest message cannot be read, however much it was', async () => {
    await rot(await lineWith('u58'))
    const window = await (await open()).session('s').window()
    expect(window.damage).toMatchObject([{ count: null, reason: 'rotten' }])
    expect(window.leftOut).toEqual([{ kind: 'messages', count: null, reason: 'damaged' }])
  })

  test('says that a summary cannot be read, and has the messages of its archive instead', async () => {
    const lines = (await linesOf(directory().path, 's')).filter(({ type }) => type === 'commit.finished')
    // Each summary is written twice.
    const [, , line, copy] = lines as [WrittenLine, WrittenLine, WrittenLine, WrittenLine]
    for (const one of [line, copy]) await rot(one)
    const window = await (await open()).session('s').window()
    expect(window.damage).toMatchObject([{ position: line.position, count: 0, reason: 'rotten' }])
    expect(window.leftOut).toEqual([{ kind: 'abstract', id: '2', reason: 'damaged' }])
    expect(window.messages).toHaveLength(40)
  })

  test('says that the instructions at the beginning cannot be read', async () => {
    const line = await lineWith('u0')
    await rot(line)
    const window = await (await open()).session('s').window()
    expect(window.damage).toMatchObject([{ position: line.position, count: 2 }])
  })
})

test('the last turn says that a record in it cannot be read', async () => {
  const before = (await open()).session('s')
  await before.append({ role: 'user', content: 'one more' })
  await before.append({ role: 'assistant', content: 'step' }, { ids: ['step'] })
  await before.append({ role: 'assistant', content: 'done' })
  expect(await before.turn()).toMatchObject({ status: 'complete', damage: [] })
  const line = await lineWith('step')
  await rot(line)
  const session = (await open()).session('s')
  expect((await session.turn()).damage).toMatchObject([{ position: line.position, count: 1, reason: 'rotten' }])
})

test('an archive says which of its messages cannot be read, and another one does not', async () => {
  const line = await lineWith('u8')
  await rot(line)
  const session = (await open()).session('s')
  const archive = await session.archive(1)
  expect(archive?.messages).toHaveLength(18)
  expect(archive?.damage).toMatchObject([{ position: line.position, count: 2, reason: 'rotten' }])
  expect(await session.archive(2)).toMatchObject({ damage: [] })
})

test('a tree flags each session that is damaged, and says where', async () => {
  const line = await lineWith('u62', 'fork')
  await rot(line)
  const tree = await (await open()).session('s').tree()
  expect(tree).toMatchObject({ status: 'ok', damage: [] })
  expect(tree.children).toMatchObject([{ status: 'damaged', damage: [{ position: line.position, count: null, reason: 'rotten' }] }])
})

test('a search names the damaged sessions that it looked in', async () => {
  await rot(await lineWith('u62', 'fork'))
  const store = await open()
  const places = [{ session: 'fork', count: null, reason: 'rotten', position: expect.any(Number) }]
  expect(await store.search('question')).toMatchObject({ damage: places, moreDamage: false })
  expect(await store.search('question', { session: 'fork' })).toMatchObject({ damage: places })
  expect(await store.search('question', { session: 's' })).toMatchObject({ damage: [] })
  expect(await store.search('question', { tag: 'none' })).toMatchObject({ damage: [] })
})

test('who follows a session from its start meets a damaged record as a change, once, and continues after it', async () => {
  const line = await lineWith('u30')
  await rot(line)
  const session = (await open()).session('s')
  const seen: { type: string; cursor: string; damage: readonly DamagedPlace[] }[] = []
  for await (const change of session.follow({ fromStart: true })) {
    seen.push(change)
    if (change.messages.some(({ id }) => id === 'u58')) break
  }
  const damaged = seen.filter(({ type }) => type === 'damage')
  expect(damaged).toMatchObject([{ damage: [{ position: line.position, count: null, reason: 'rotten' }] }])
  for await (const change of session.follow({ after: damaged[0]?.cursor as string })) {
    expect(change).toMatchObject({ type: 'messages.appended', messages: [{ id: 'u32' }, { id: 'a32' }] })
    break
  }
})

test('who follows a session from its start learns that a segment is missing', async () => {
  const [, second = ''] = await segmentsOf(directory().path, 's')
  await rm(second)
  const session = (await open()).session('s')
  for await (const { type, damage } of session.follow({ fromStart: true })) {
    if (type !== 'damage') continue
    expect(damage).toMatchObject([{ reason: 'missing', count: null }])
    break
  }
})

test('the records of a session come with what cannot be read between them, page by page', async () => {
  const line = await rotBothCopies('session.described')
  const session = (await open()).session('s')
  const places: DamagedPlace[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const page = await session.recordPage({ limit: 5, ...(before === undefined ? {} : { before }) })
    places.push(...page.damage)
    before = page.before
  }
  expect(places).toMatchObject([{ position: line.position, count: null, reason: 'rotten' }])
})

describe('an export', () => {
  async function exported(store: Store, format: (typeof EXPORT_FORMATS)[number], session: string): Promise<readonly DamagedPlace[]> {
    let places: readonly DamagedPlace[] = []
    const onSession = (_: string, damage: readonly DamagedPlace[]): void => {
      places = damage
    }
    for await (const _ of exportFrom(store, { format, session, onSession }));
    return places
  }

  test.each(EXPORT_FORMATS)('as %s reports the same damaged places as every other format', async (format) => {
    const [message, inherited] = [await lineWith('u50'), await lineWith('u8')]
    const title = await rotBothCopies('session.described')
    for (const line of [message, inherited]) await rot(line)
    const store = await open()
    const own = [
      { position: inherited.position, count: 2, reason: 'rotten' },
      { position: title.position, count: 0, reason: 'rotten' },
      { position: message.position, count: 2, reason: 'rotten' },
    ]
    expect(await exported(store, format, 's')).toMatchObject(own)
    const past = [
      { position: inherited.position, count: 2, reason: 'rotten', session: 's' },
      { position: message.position, count: 2, reason: 'rotten', session: 's' },
    ]
    expect(await exported(store, format, 'fork')).toMatchObject(past)
  })

  test('of a whole session reports nothing', async () => {
    expect(await exported(await open(), 'markdown', 's')).toEqual([])
  })
})

describe('damage that a person has accepted', () => {
  test('stays in every answer, marked, and the session is in order again', async () => {
    const line = await lineWith('u50')
    await rot(line)
    const before = await open()
    const handle = new Handle(before.parts, 's')
    const segment = Number(/(\d{16})\.jsonl$/.exec(line.file)?.[1])
    const finding = { kind: 'rotten', segment, offset: line.offset, length: line.length }
    const [unaccepted] = (await before.session('s').messages({ limit: 100 })).damage
    expect(unaccepted).toMatchObject({ position: line.position, count: 2, reason: 'rotten' })
    expect(unaccepted).not.toHaveProperty('accepted')
    await handle.submit({}, () => acknowledge([finding], { space: 'default', session: 's' }))
    await before.close()

    const session = (await open()).session('s')
    const place = { position: line.position, count: 2, reason: 'rotten', accepted: true }
    expect(await session.info()).toMatchObject({ status: 'ok' })
    expect(await session.messages({ limit: 100 })).toMatchObject({ damage: [place] })
    expect((await session.window()).damage).toMatchObject([place])
    expect(await session.message('none')).toBeUndefined()
    const fork = (await open()).session('fork')
    expect((await fork.messages({ limit: 100 })).damage).toMatchObject([{ ...place, session: 's' }])
  })
})
