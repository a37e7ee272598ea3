/** Followers of a damaged session are sent a change of type `damage` where something is missing, and only there. */
import { mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'

const LIMITS = { segmentBytes: 2000 }

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-followers-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

async function using<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(directory, { limits: LIMITS })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function fill(store: Store, id: string, texts: readonly string[]): Promise<void> {
  const session = store.session(id)
  for (const content of texts) await session.append({ role: 'user', content })
}

async function segmentsOf(id: string): Promise<string[]> {
  const folder = join(directory, 'sessions', journalName('default', id))
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted()
  return names.map((name) => join(folder, name))
}

/** The texts of the messages, and `damage: <reason>`, up to the last one that is expected and for a moment after it. */
async function followed(store: Store, last: string, id = 'a'): Promise<{ seen: string[]; cursor: string }> {
  const seen: string[] = []
  let cursor = ''
  const stop = new AbortController()
  const limit = setTimeout(() => stop.abort(), 20_000)
  for await (const change of store.session(id).follow({ fromStart: true, signal: stop.signal })) {
    cursor = change.cursor
    seen.push(...change.messages.map(({ message }) => String(message.content)))
    if (change.type === 'damage') seen.push(`damage: ${change.damage[0]?.reason}`)
    if (seen.at(-1) === last) setTimeout(() => stop.abort(), 300)
  }
  clearTimeout(limit)
  return { seen, cursor }
}

/** What comes after a cursor within a moment. */
async function followedAfter(store: Store, after: string): Promise<number> {
  let changes = 0
  for await (const _ of store.session('a').follow({ after, signal: AbortSignal.timeout(500) })) changes++
  return changes
}

function damageIn({ seen }: { readonly seen: readonly string[] }): string[] {
  return seen.filter((text) => text.startsWith('damage'))
}

test('a message whose line was blanked', async () => {
  await using((store) => fill(store, 'a', ['first', 'second', 'third']))
  const [path = ''] = await segmentsOf('a')
  const text = await readFile(path, 'utf8')
  await writeFile(
    path,
    text.replace(/^.*second.*$/m, (line) => ' '.repeat(line.length)),
  )
  // If one was written after the second message, it would report that line as vanished, too.
  await rm(join(directory, 'watermarks'), { recursive: true, force: true })
  await using(async (store) => {
    const { seen, cursor } = await followed(store, 'third')
    expect(seen).toEqual(['first', 'damage: missing', 'third'])
    expect(await followedAfter(store, cursor)).toBe(0)
  })
})

test('the end of the journal, which has vanished', async () => {
  await using((store) => fill(store, 'a', ['first', 'second', 'third']))
  const [path = ''] = await segmentsOf('a')
  await truncate(path, (await readFile(path)).indexOf('"third"'))
  await using(async (store) => expect((await followed(store, 'damage: vanished')).seen).toEqual(['first', 'second', 'damage: vanished']))
})

test('the end of the journal, which vanishes while it is followed', async () => {
  await using(async (store) => {
    await fill(store, 'a', ['first', 'second', 'third'])
    await using((other) => fill(other, 'a', ['fourth']))
    const [path = ''] = await segmentsOf('a')
    const stop = new AbortController()
    const seen: string[] = []
    const following = (async () => {
      for await (const change of store.session('a').follow({ fromStart: true, signal: stop.signal })) {
        seen.push(...change.messages.map(({ message }) => String(message.content)))
        if (change.type === 'damage') return void seen.push(`damage: ${change.damage[0]?.reason}`)
        if (seen.at(-1) === 'fourth') {
          await truncate(path, (await readFile(path)).indexOf('"third"'))
          await using(async (other) => other.session('a').messages())
        }
      }
    })()
    const timer = setTimeout(() => stop.abort(), 8000)
    await following
    clearTimeout(timer)
    expect(seen).toEqual(['first', 'second', 'third', 'fourth', 'damage: vanished'])
  })
})

test('the first segment, which was exchanged with one of another session', async () => {
  const texts = Array.from({ length: 12 }, (_, i) => `number ${i} ${'x'.repeat(300)}`)
  await using(async (store) => {
    await fill(store, 'a', texts)
    await fill(store, 'b', texts)
  })
  const [one = '', other = ''] = [(await segmentsOf('a'))[0], (await segmentsOf('b'))[0]]
  await rename(one, `${one}.moved`)
  await rename(other, one)
  await rename(`${one}.moved`, other)
  await using(async (store) => {
    const { seen } = await followed(store, texts.at(-1) as string)
    expect(seen[0]).toBe('damage: missing')
    expect(damageIn({ seen })).toHaveLength(1)
    expect(seen.at(-1)).toBe(texts.at(-1))
  })
})

test('none where a session was reverted, forked, erased, and began again', async () => {
  await using(async (store) => {
    const texts = Array.from({ length: 12 }, (_, i) => `number ${i} ${'x'.repeat(300)}`)
    await fill(store, 'a', texts)
    const session = store.session('a')
    const { messages } = await session.messages({ from: 'start', limit: 100 })
    await session.erase(messages[3]?.id as string)
    await session.revert({ message: messages[5]?.id as string })
    await fill(store, 'a', ['on another branch'])
    const fork = await session.fork({ id: 'b', at: messages[2]?.id as string })
    await fork.append({ role: 'user', content: 'in the fork' })
    expect(damageIn(await followed(store, 'on another branch'))).toEqual([])
    expect((await followed(store, 'in the fork', 'b')).seen).toEqual(['in the fork'])
    await session.delete()
    await (await store.create({ id: 'a' })).append({ role: 'user', content: 'again' })
    expect(damageIn(await followed(store, 'again'))).toEqual([])
    for await (const _ of store.purge({ olderThanMs: 0 }));
    expect(damageIn(await followed(store, 'again'))).toEqual([])
  })
}, 30_000)
