/** The directory of a store is unmounted, renamed, deleted or replaced while a process has the store open. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HoldfastError } from '../../src/errors.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

let parent: string
let directory: string
let aside: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-moved-'))
  directory = join(parent, 'store')
  aside = join(parent, 'aside')
})
afterEach(() => rmSync(parent, { recursive: true }))

/** Segments that roll after a few messages, so that there are id files and several segments. */
const LIMITS = { limits: { segmentBytes: 2000 } }

async function fill(path: string, content: string): Promise<void> {
  await using store = await openStore(path, LIMITS)
  for (const id of ['talk', 'other']) {
    for (let n = 1; n <= 8; n++)
      await store.session(id).append({ role: 'user', content: `${content} ${n} ${'x'.repeat(400)}` }, { ids: [`m${n}`] })
  }
}

/** Every file below a directory with its content. */
function contentOf(path: string): Record<string, string> {
  if (!existsSync(path)) return {}
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(
    names.map((name) => [name, statSync(join(path, name)).isFile() ? readFileSync(join(path, name)).toString('base64') : 'directory']),
  )
}

/** What another program does to the directory, and how it is undone. */
const MOVES: Readonly<Record<string, { readonly move: () => Promise<void>; readonly undo: () => void }>> = {
  'was renamed': { move: async () => renameSync(directory, aside), undo: () => renameSync(aside, directory) },
  'is an empty mount point': {
    move: async () => {
      renameSync(directory, aside)
      mkdirSync(directory)
    },
    undo: () => {
      rmSync(directory, { recursive: true })
      renameSync(aside, directory)
    },
  },
  'is another store with the same sessions': {
    move: async () => {
      await fill(join(parent, 'foreign'), 'foreign')
      renameSync(directory, aside)
      renameSync(join(parent, 'foreign'), directory)
    },
    undo: () => {
      renameSync(directory, join(parent, 'foreign'))
      renameSync(aside, directory)
    },
  },
  'is a store without sessions': {
    move: async () => {
      await (await openStore(join(parent, 'foreign'))).close()
      renameSync(directory, aside)
      renameSync(join(parent, 'foreign'), directory)
    },
    undo: () => {
      renameSync(directory, join(parent, 'foreign'))
      renameSync(aside, directory)
    },
  },
  'has the holdfast.json of another store': {
    move: async () => {
      await (await openStore(join(parent, 'foreign'))).close()
      cpSync(join(directory, 'holdfast.json'), join(parent, 'kept'))
      // The same file with other content.
      writeFileSync(join(directory, 'holdfast.json'), readFileSync(join(parent, 'foreign', 'holdfast.json')))
    },
    undo: () => writeFileSync(join(directory, 'holdfast.json'), readFileSync(join(parent, 'kept'))),
  },
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** What callers may ask for. `talk` was used by this process, `other` was not. */
const CALLS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  list: (store) => store.list(),
  'list with a count': (store) => store.list({ count: true }),
  search: (store) => store.search('message'),
  stats: (store) => store.stats(),
  tasks: (store) => store.tasks(),
  'messages of a session in use': (store) => store.session('talk').messages(),
  'messages of a session': (store) => store.session('other').messages(),
  'info of a session': (store) => store.session('other').info(),
  'one message': (store) => store.session('other').message('m1'),
  'a window': (store) => store.session('talk').window(),
  'an append to a session': (store) => store.session('other').append({ role: 'user', content: 'lost?' }, { ids: ['m9'] }),
  'an append to a new session': (store) => store.session('new').append({ role: 'user', content: 'lost?' }, { ids: ['m1'] }),
  'a title': (store) => store.session('other').describe({ title: 'title' }),
  'a fork': (store) => store.session('other').fork({ id: 'fork' }),
  'a deletion': (store) => store.session('other').delete(),
  'an erasure': (store) => store.session('other').erase('m1'),
  purge: (store) => all(store.purge({ olderThanMs: 0 })),
  doctor: async (store) => all((await import('../../src/doctor/doctor.ts')).doctor(store)),
  'the next change': (store) => store.session('talk').follow({ fromStart: true }).next(),
}

async function refusalOf(call: Promise<unknown>): Promise<unknown> {
  const outcome = await call.then(
    (value) => ({ answer: value }),
    (error: unknown) => error,
  )
  if (!(outcome instanceof HoldfastError)) return outcome
  return { code: outcome.code, reason: outcome.details.reason, retryable: outcome.retryable, outcome: outcome.outcome }
}

const REFUSED = { code: 'UNAVAILABLE', reason: 'store moved', retryable: true, outcome: 'none' }

describe.each(Object.entries(MOVES))('while the directory %s', (_, { move, undo }) => {
  test('every call is refused, nothing is written there, and all of it works when the directory is back', async () => {
    await fill(directory, 'message')
    const store = await openStore(directory, LIMITS)
    await store.list()
    await store.session('talk').append({ role: 'user', content: 'message 9' }, { ids: ['m9'] })
    await move()
    const foreign = contentOf(directory)
    const refusals: Record<string, unknown> = {}
    for (const [name, call] of Object.entries(CALLS)) refusals[name] = await refusalOf(call(store))
    expect(refusals).toEqual(Object.fromEntries(Object.keys(CALLS).map((name) => [name, REFUSED])))
    expect(contentOf(directory)).toEqual(foreign)
    undo()
    expect((await store.list()).sessions.map(({ id }) => id).sort()).toEqual(['other', 'talk'])
    expect((await store.search('message')).hits.length).toBeGreaterThan(0)
    for (const [id, count] of [
      ['talk', 9],
      ['other', 8],
    ] as const) {
      const session = store.session(id)
      expect((await session.messages()).messages).toHaveLength(count)
      await session.append({ role: 'user', content: `message 8 ${'x'.repeat(400)}` }, { ids: ['m8'] })
      await session.append({ role: 'user', content: 'after' }, { ids: ['after'] })
      expect((await session.messages()).messages).toHaveLength(count + 1)
    }
    await store.session('new').append({ role: 'user', content: 'new' })
    expect((await store.list()).sessions).toHaveLength(3)
    await store.close()
  })

  test('a store that is closed writes nothing there', async () => {
    await fill(directory, 'message')
    const store = await openStore(directory, LIMITS)
    await store.session('talk').append({ role: 'user', content: 'a watermark is pending' }, { ids: ['m9'] })
    await move()
    const foreign = contentOf(directory)
    await store.close()
    expect(contentOf(directory)).toEqual(foreign)
    undo()
  })
})

describe.each(Object.entries(MOVES).slice(0, 4))('while the directory %s', (_, { move, undo }) => {
  test('an append to an open file is not acknowledged, and repeating it later writes it once', async () => {
    await fill(directory, 'message')
    await using store = await openStore(directory, LIMITS)
    const session = store.session('talk')
    await session.append({ role: 'user', content: 'message 9' }, { ids: ['m9'] })
    await move()
    const foreign = contentOf(directory)
    const again = (): Promise<unknown> => session.append({ role: 'user', content: 'message 10' }, { ids: ['m10'] })
    // The file was open: its bytes are in it, wherever it is by now.
    expect(await refusalOf(again())).toEqual({ ...REFUSED, outcome: 'unknown' })
    expect(await refusalOf(again())).toEqual(REFUSED)
    expect(contentOf(directory)).toEqual(foreign)
    undo()
    await again()
    expect((await session.messages()).messages.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, n) => `m${n + 1}`))
  })
})

test('a store that was deleted refuses every call and is not created again', async () => {
  await fill(directory, 'message')
  const store = await openStore(directory, LIMITS)
  await store.list()
  rmSync(directory, { recursive: true })
  const refusals: Record<string, unknown> = {}
  for (const [name, call] of Object.entries(CALLS)) refusals[name] = await refusalOf(call(store))
  expect(refusals).toEqual(Object.fromEntries(Object.keys(CALLS).map((name) => [name, REFUSED])))
  await store.close()
  expect(existsSync(directory)).toBe(false)
})

test('a copy of the same store in the place of the directory is used, with its own catalog and feed', async () => {
  await fill(directory, 'message')
  await using store = await openStore(directory, LIMITS)
  await store.list()
  await store.session('talk').append({ role: 'user', content: 'message 9' }, { ids: ['m9'] })
  cpSync(directory, join(parent, 'copy'), { recursive: true, verbatimSymlinks: true })
  renameSync(directory, aside)
  renameSync(join(parent, 'copy'), directory)
  const former = contentOf(join(aside, 'sessions'))
  expect((await store.list()).sessions).toHaveLength(2)
  await store
    .session('talk')
    .append({ role: 'user', content: 'message 10' }, { ids: ['m10'] })
    .catch(() => undefined)
  await store.session('talk').append({ role: 'user', content: 'message 10' }, { ids: ['m10'] })
  await store.session('new').append({ role: 'user', content: 'new' })
  // Another process sees it: it was announced in the feed of the copy.
  await using other = await openStore(directory)
  expect((await other.list()).sessions.map(({ id }) => id).sort()).toEqual(['new', 'other', 'talk'])
  expect((await other.session('talk').messages()).messages).toHaveLength(10)
  expect((await store.list()).sessions).toHaveLength(3)
  expect(Object.keys(contentOf(join(aside, 'sessions')))).toEqual(Object.keys(former))
})
