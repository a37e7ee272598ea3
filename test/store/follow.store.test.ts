import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { openMemoryEngine } from '../../src/engines/memory/engine.ts'
import type { JsonObject } from '../../src/record/record.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import type { Change } from '../../src/store/messages/follow.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Session } from '../../src/store/session.ts'
import { useDirectory } from './directory.ts'

const directory = useDirectory()
const SMALL = { limits: { segmentBytes: 300 } }

/** The next changes, so many of them. */
async function take(changes: AsyncGenerator<Change<JsonObject>>, count: number): Promise<Change<JsonObject>[]> {
  const taken: Change<JsonObject>[] = []
  while (taken.length < count) {
    const { done, value } = await changes.next()
    if (done === true) break
    taken.push(value)
  }
  return taken
}

function positionOf({ cursor }: Change<JsonObject>): number {
  return Number.parseInt(cursor, 10)
}

async function idsIn(session: Session<JsonObject>): Promise<string[]> {
  const { messages } = await session.messages({ limit: 1000 })
  return messages.map(({ id }) => id)
}

function idsOf(changes: readonly Change<JsonObject>[]): string[] {
  return changes.flatMap(({ messages }) => messages.map(({ id }) => id))
}

test('two stores write at once, through many segments: whoever follows either sees every change once, in the one order', async () => {
  const [here, there] = [await directory().open(SMALL), await directory().open(SMALL)]
  const [mine, theirs] = [here.session<JsonObject>('s'), there.session<JsonObject>('s')]
  const followers = [mine.follow({ fromStart: true }), theirs.follow({ fromStart: true })]
  const write = async (session: Session<JsonObject>, name: string): Promise<void> => {
    for (let i = 0; i < 30; i++) await session.append({ content: `${name} ${i}`.padEnd(100, '.') })
  }
  const writing = Promise.all([write(mine, 'mine'), write(theirs, 'theirs')])
  const [first, second] = await Promise.all(followers.map((changes) => take(changes, 61)))
  await writing
  expect(idsOf(first as Change<JsonObject>[])).toEqual(await idsIn(mine))
  expect(first?.map(({ cursor }) => cursor)).toEqual(second?.map(({ cursor }) => cursor))
  expect(first?.[0]?.type).toBe('session.created')
  const positions = (first as Change<JsonObject>[]).map(positionOf)
  expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b))
  for (const changes of followers) await changes.return(undefined)
  const files = await readdir(directory().path, { recursive: true })
  expect(files.filter((name) => name.endsWith('.jsonl') && name.startsWith('sessions')).length).toBeGreaterThan(3)
})

test('from any cursor on it goes on with the change behind it', async () => {
  const session = (await directory().open(SMALL)).session<JsonObject>('s')
  for (let i = 0; i < 12; i++) await session.append([{ content: `${i}`.padEnd(100, '.') }, { content: 'and more' }])
  await session.describe({ title: 'title' })
  const following = session.follow({ fromStart: true })
  const all = await take(following, 14)
  await following.return(undefined)
  // Behind the last one nothing comes but what is written now.
  await session.snapshot('the end')
  const other = (await directory().open(SMALL)).session<JsonObject>('s')
  for (const [index, { cursor }] of all.entries()) {
    const changes = other.follow({ after: cursor })
    const rest = await take(changes, all.length - index)
    expect(rest.map(({ cursor: one }) => one).slice(0, -1)).toEqual(all.slice(index + 1).map(({ cursor: one }) => one))
    expect(rest.at(-1)?.type).toBe('snapshot.taken')
    await changes.return(undefined)
  }
})

test('a change says what it is, when it was made, its messages with their ids, and the version behind it', async () => {
  const session = (await directory().open()).session<JsonObject>('s')
  const changes = session.follow()
  const { ids, version } = await session.append([{ content: 'one' }, { content: 'two' }], { ids: [undefined, 'two'] })
  const [created, appended] = await take(changes, 2)
  expect(created).toMatchObject({ type: 'session.created', messages: [] })
  expect(appended).toMatchObject({
    type: 'messages.appended',
    version,
    messages: [
      { id: ids[0], message: { content: 'one' } },
      { id: 'two', message: { content: 'two' } },
    ],
  })
  expect(Date.parse(appended?.at ?? '')).toBeGreaterThan(0)
  await changes.return(undefined)
})

test('it begins with the call, not when somebody first waits', async () => {
  const session = (await openStore('memory:')).session<JsonObject>('s')
  await session.append({ content: 'before' })
  const changes = session.follow()
  await session.append({ content: 'behind' }, { ids: ['behind'] })
  expect(idsOf(await take(changes, 1))).toEqual(['behind'])
  await changes.return(undefined)
})

test('a hint that never comes costs time and nothing else', async () => {
  const engine = openMemoryEngine({ keysOf: sessionReducer.keysOf })
  let wake = (): void => undefined
  let slept = (): void => undefined
  const asleep = new Promise<void>((resolve) => {
    slept = resolve
  })
  const clock: Clock = {
    ...systemClock,
    sleep: () => {
      slept()
      return new Promise((resolve) => {
        wake = resolve
      })
    },
  }
  const deaf = await openStore({ ...wrapped(engine), watch: () => () => undefined }, { clock })
  const session = deaf.session<JsonObject>('s')
  const next = take(session.follow(), 1)
  await asleep
  await (await openStore(engine)).session<JsonObject>('s').append({ content: 'one' })
  wake()
  expect((await next).map(({ type }) => type)).toEqual(['session.created'])
})

function wrapped(engine: ReturnType<typeof openMemoryEngine>): ReturnType<typeof openMemoryEngine> {
  return {
    supports: engine.supports,
    warnings: [],
    name: (space, id) => engine.name(space, id),
    journal: (name) => engine.journal(name),
    names: (space) => engine.names(space),
    changes: (cursor) => engine.changes(cursor),
    watch: (hint) => engine.watch(hint),
    close: () => engine.close(),
  }
}

describe('it ends', () => {
  test('by its signal, also while it waits', async () => {
    const session = (await directory().open()).session<JsonObject>('s')
    await session.append({ content: 'one' })
    const ending = new AbortController()
    const changes = session.follow({ signal: ending.signal, fromStart: true })
    expect(await take(changes, 2)).toHaveLength(2)
    const waiting = changes.next()
    ending.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await changes.next()).toEqual({ done: true, value: undefined })
  })

  test('before it begins, if the signal was given already', async () => {
    const session = (await directory().open()).session<JsonObject>('s')
    await session.append({ content: 'one' })
    expect(await take(session.follow({ signal: AbortSignal.abort(), fromStart: true }), 1)).toEqual([])
  })

  test('between two changes, although more are there', async () => {
    const session = (await openStore('memory:')).session<JsonObject>('s')
    for (const content of ['one', 'two', 'three']) await session.append({ content })
    const ending = new AbortController()
    const seen: string[] = []
    for await (const { type } of session.follow({ signal: ending.signal, fromStart: true })) {
      seen.push(type)
      if (seen.length === 2) ending.abort()
    }
    expect(seen).toHaveLength(2)
  })
})

describe('what was purged', () => {
  async function purged(): Promise<{
    session: Session<JsonObject>
    cursor: string
    sleeper: AsyncGenerator<Change<JsonObject>>
    recreate: () => Promise<void>
  }> {
    const store = await directory().open(SMALL)
    const session = store.session<JsonObject>('s')
    await session.append({ content: 'one' })
    const following = session.follow({ fromStart: true })
    const seen = await take(following, 2)
    await following.return(undefined)
    const sleeper = session.follow()
    // It has begun, and has seen nothing yet.
    await session.version()
    await session.delete()
    const told: string[] = []
    for await (const { action } of store.purge({ olderThanMs: -1000 })) told.push(action)
    expect(told).toEqual(['purged'])
    return {
      session,
      sleeper,
      cursor: seen.at(-1)?.cursor as string,
      recreate: async () => {
        await store.create<JsonObject>({ id: 's' })
      },
    }
  }

  test('cannot be gone on from: a reset tells, and following goes on behind it', async () => {
    const { session, cursor, recreate } = await purged()
    const changes = session.follow({ after: cursor })
    const [reset] = await take(changes, 1)
    expect(reset).toMatchObject({ type: 'reset', messages: [] })
    await recreate()
    expect((await take(changes, 1)).map(({ type }) => type)).toEqual(['session.created'])
    const resumed = session.follow({ after: reset?.cursor as string })
    expect((await take(resumed, 1)).map(({ type }) => type)).toEqual(['session.created'])
    for (const one of [changes, resumed]) await one.return(undefined)
  })

  test('is told also to one who had begun and slept through it', async () => {
    const { sleeper, recreate } = await purged()
    await recreate()
    expect((await take(sleeper, 2)).map(({ type }) => type)).toEqual(['reset', 'session.created'])
    await sleeper.return(undefined)
  })

  test('is not missed by one who begins at the start: that is the first record there is', async () => {
    const { session, recreate } = await purged()
    await recreate()
    const changes = session.follow({ fromStart: true })
    expect((await take(changes, 1)).map(({ type }) => type)).toEqual(['session.created'])
    await changes.return(undefined)
  })
})

test.each(['', 'x', '12', '12-', '-reset', '12-ABCDEF01', '1e3-00000000', '99999999999999999-00000000'])(
  '%j is no cursor',
  async (cursor) => {
    const session = (await openStore('memory:')).session<JsonObject>('s')
    await expect(take(session.follow({ after: cursor }), 1)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  },
)

test('a cursor of another session does not fit: a reset tells', async () => {
  const store = await openStore('memory:')
  const [one, other] = [store.session<JsonObject>('one'), store.session<JsonObject>('other')]
  await one.append({ content: 'a' })
  await other.append({ content: 'somewhat longer' })
  const changes = one.follow({ fromStart: true })
  const cursor = (await take(changes, 2)).at(-1)?.cursor as string
  await changes.return(undefined)
  const elsewhere = other.follow({ after: cursor })
  expect((await take(elsewhere, 2)).map(({ type }) => type)).toEqual(['reset', 'session.created'])
  await elsewhere.return(undefined)
})
