import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { isBlank, splitLines } from '../../src/record/line.ts'
import type { JsonObject } from '../../src/record/record.ts'
import { WRITTEN_TWICE } from '../../src/record/record.ts'
import type { Session } from '../../src/store/session.ts'
import { useDirectory } from './directory.ts'

const directory = useDirectory()
const SMALL = { limits: { segmentBytes: 300 } }

/** A line of a segment, and what it says. */
interface Written {
  readonly file: string
  readonly offset: number
  readonly length: number
  readonly type: string
  readonly id: string
  /** Ids of the messages in it. */
  readonly ids: readonly string[]
}

interface Shown {
  readonly id: string
  readonly depth: number
  readonly content: unknown
}

/** What it was before any damage. */
let lines: Written[]
let path: Shown[]
let others: Shown[]
let counts: { messageCount: number; snapshots: unknown }

async function show(session: Session<JsonObject>, from: 'start' | 'end' = 'end', limit = 1000): Promise<Shown[]> {
  let all: Shown[] = []
  for (;;) {
    const edge = from === 'start' ? all.at(-1)?.id : all[0]?.id
    const page = await session.messages({
      limit,
      from,
      ...(edge === undefined ? {} : from === 'start' ? { after: edge } : { before: edge }),
    })
    const shown = page.messages.map(({ id, depth, message }) => ({ id, depth, content: message.content }))
    all = from === 'start' ? [...all, ...shown] : [...shown, ...all]
    if (!page.more) return all
  }
}

/** Two branches, snapshots and entries, over several segments. The branch that is left at last goes over records of both. */
async function write(): Promise<void> {
  const store = await directory().open(SMALL)
  const session = store.session<JsonObject>('s')
  const say = (from: number, to: number): Promise<unknown> =>
    session.append(
      Array.from({ length: to - from }, (_, i) => ({ content: `${from + i}`.padEnd(80, '.') })),
      { ids: Array.from({ length: to - from }, (_, i) => `m${from + i}`) },
    )
  for (let i = 0; i < 8; i += 2) await say(i, i + 2)
  await session.snapshot('first')
  for (let i = 8; i < 14; i++) await say(i, i + 1)
  await session.describe({ title: 'title' })
  await session.revert({ message: 'm10' })
  for (let i = 14; i < 26; i++) await say(i, i + 1)
  await session.putEntries([{ channel: 'c', key: 'k', value: 1 }])
  await session.append({ content: 'under' }, { ids: ['under'], parent: 'm20' })
  await say(26, 30)
  await session.describe({ addTags: ['last'] })
  path = await show(session)
  const { messageCount, snapshots } = await session.info()
  counts = { messageCount, snapshots }
  others = []
  for (const id of ['m11', 'm13', 'm21', 'm25']) {
    const one = await session.message(id)
    if (one !== undefined) others.push({ id, depth: one.depth, content: one.message.content })
  }
  await store.close()
}

async function linesOf(): Promise<Written[]> {
  const files = (await readdir(directory().path, { recursive: true })).filter(
    (name) => name.startsWith('sessions') && name.endsWith('.jsonl'),
  )
  const found: Written[] = []
  for (const file of files.sort()) {
    for (const { at, bytes } of splitLines(await readFile(join(directory().path, file)), 0).lines) {
      if (isBlank(bytes)) continue
      const { type, id, ids } = JSON.parse(Buffer.from(bytes).toString()) as { type: string; id: string; ids?: string[] }
      found.push({ file, offset: at, length: bytes.length, type, id, ids: ids ?? [] })
    }
  }
  return found
}

async function withoutIdFiles(): Promise<void> {
  for (const name of await readdir(directory().path, { recursive: true })) {
    if (name.endsWith('.ids')) await rm(join(directory().path, name))
  }
}

/** Flips a bit in the middle of lines, lets somebody look, and puts it back. */
async function damaged<T>(hit: readonly Written[], look: (session: Session<JsonObject>) => Promise<T>): Promise<T> {
  const before = new Map<string, Buffer>()
  for (const { file, offset, length } of hit) {
    const name = join(directory().path, file)
    const bytes = await readFile(name)
    if (!before.has(name)) before.set(name, Buffer.from(bytes))
    const middle = offset + Math.floor(length / 2)
    bytes[middle] = (bytes[middle] as number) ^ 1
    await writeFile(name, bytes)
  }
  const store = await directory().open(SMALL)
  try {
    return await look(store.session<JsonObject>('s'))
  } finally {
    await store.close()
    for (const [name, bytes] of before) await writeFile(name, bytes)
  }
}

beforeEach(async () => {
  await write()
  lines = await linesOf()
})

test('the sample has what can be damaged: several segments, two branches, and most types of records', () => {
  expect(new Set(lines.map(({ file }) => file)).size).toBeGreaterThan(2)
  expect(new Set(lines.map(({ type }) => type)).size).toBeGreaterThan(6)
  expect(path.length).toBeLessThan(31)
})

describe.each([
  ['with the id files as they were', async () => undefined],
  ['with the id files gone', withoutIdFiles],
])('one rotten line, %s', (variant, prepare) => {
  beforeEach(prepare)

  test('costs the messages in it, and every other message is there, with its id and depth, from both ends', async () => {
    // Every line is hit once, in one of the two ways.
    const odd = variant.endsWith('gone') ? 1 : 0
    for (const [index, line] of lines.entries()) {
      if (index % 2 !== odd) continue
      const what = `${line.type} ${line.ids.join()} at ${line.offset} of ${line.file}`
      const left = path.filter(({ id }) => !line.ids.includes(id))
      await damaged([line], async (session) => {
        expect(await show(session), what).toEqual(left)
        expect(await show(session, 'end', 3), what).toEqual(left)
        expect(await show(session, 'start', 3), what).toEqual(left)
        // Each of them, in turn, for one line in so many.
        for (const { id, depth, content } of [...left, ...others].filter((_, i) => i % 7 === index % 7)) {
          if (line.ids.includes(id)) continue
          expect(await session.message(id), what).toMatchObject({ id, depth, message: { content } })
        }
      })
    }
  })

  test('changes no count, and is told by its message as DAMAGED or as unknown, and by nothing else', async () => {
    const appended = lines.filter(({ type }) => type === 'messages.appended')
    for (const line of appended) {
      // Of the very last messages nothing else tells.
      const lost = line === appended.at(-1) ? line.ids.length : 0
      await damaged([line], async (session) => {
        expect((await session.info()).messageCount, line.ids.join()).toBe(counts.messageCount - lost)
        for (const id of line.ids) {
          const outcome = await session.message(id).then(
            (message) => message,
            (error: { code: string }) => error.code,
          )
          expect(['DAMAGED', undefined], id).toContain(outcome)
        }
      })
    }
  })

  test('is reported, with its place', async () => {
    for (const line of lines.filter((_, index) => index % 5 === 0)) {
      await damaged([line], async (session) => {
        const { file, offset, length } = line
        const segment = Number(/(\d{16})\.jsonl$/.exec(file)?.[1])
        // Of a record that is written twice, the other copy can be read: nothing is lost.
        const lost = WRITTEN_TWICE.has(line.type) ? [] : [{ segment, offset, length, kind: 'rotten' }]
        expect(await session.damage()).toEqual(lost)
      })
    }
  })
})

test('a rotten line in the last segment flags the session', async () => {
  const last = lines.findLast(({ type }) => type === 'messages.appended') as Written
  expect(await damaged([last], async (session) => (await session.info()).status)).toBe('damaged')
})

test('after damage the session is written to as before', async () => {
  const inTheMiddle = lines.find(({ ids }) => ids.includes('m18')) as Written
  await damaged([inTheMiddle], async (session) => {
    await session.append({ content: 'more' }, { ids: ['more'] })
    expect((await show(session)).at(-1)).toEqual({ id: 'more', depth: counts.messageCount + 1, content: 'more' })
    await session.revert({ message: 'm19' })
    expect((await show(session)).at(-1)?.id).toBe('m19')
    await session.undo()
    expect((await show(session)).at(-1)?.id).toBe('more')
    // The id files tell that it was appended, though not what it said: it is not appended twice.
    expect(await session.append({ content: '18'.padEnd(80, '.') }, { ids: ['m18'] })).toMatchObject({ duplicate: true })
  })
})

test('a replacement that rotted can be replaced', async () => {
  const store = await directory().open(SMALL)
  await store.session<JsonObject>('s').replace('m3', { content: 'other' })
  await store.close()
  const replaced = (await linesOf()).find(({ type }) => type === 'message.replaced') as Written
  await damaged([replaced], async (session) => {
    expect((await session.message('m3'))?.message.content).toMatch(/^3\./)
    await session.replace('m3', { content: 'third' })
    expect((await session.message('m3'))?.message.content).toBe('third')
  })
})

test('a rotten link of entries costs its entries, and those before it are found', async () => {
  const store = await directory().open(SMALL)
  const session = store.session<JsonObject>('s')
  for (const key of ['a', 'b', 'c']) {
    await session.putEntries([{ channel: 'chain', key, value: key }])
    for (let i = 0; i < 8; i++) await session.append({ content: 'between'.padEnd(200, '.') })
  }
  await store.close()
  const links = (await linesOf()).filter(({ type }) => type === 'entry.put')
  await damaged([links[2] as Written], async (one) => {
    const keys: string[] = []
    for await (const { key } of one.entries('chain')) keys.push(key)
    expect(keys).toEqual(['c', 'a'])
    expect(await one.entry('chain', 'a')).toMatchObject({ value: 'a' })
  })
})
