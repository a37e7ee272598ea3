/** Stores that earlier versions wrote: each is read as it was, found healthy, and gone on with, in a copy. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import { FORMAT_VERSION, RECORD_TYPES } from '../../src/record/record.ts'
import type { Store } from '../../src/store/store.ts'
import { ROOT, readSources } from '../tidy/sources.ts'
import { copyOf } from './copy.ts'
import { CURRENT, RELEASED, STORES } from './stores.ts'
import { tell } from './tell.ts'

async function damageIn(store: Store): Promise<unknown[]> {
  const found = []
  for await (const finding of doctor(store)) if (finding.severity === 'damage') found.push(finding)
  return found
}

/** The versions of all lines in the journals below a directory. */
function versionsIn(directory: string): Set<number> {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((path) => /sessions.*\.jsonl$/.test(path))
  const lines = files.flatMap((path) => readFileSync(join(directory, path), 'utf8').split('\n'))
  return new Set(lines.flatMap((line) => /^\{"v":(\d+),/.exec(line)?.[1] ?? []).map(Number))
}

const MODEL = { name: 'golden', inputTokens: 1000, summarise: async () => ({ abstract: 'Late', overview: 'Late', memories: [] }) }

/** The types of all records in the journals below a directory. */
function typesIn(directory: string): Set<string> {
  const lines = readSources(directory, ['.jsonl']).flatMap(({ text }) => text.split('\n'))
  return new Set(lines.flatMap((line) => /^\{"v":\d+,"id":"[^"]+","at":"[^"]+","type":"([^"]+)"/.exec(line)?.[1] ?? []))
}

describe.each(readdirSync(join(ROOT, STORES)))('the golden store %s', (name) => {
  const home = join(ROOT, STORES, name)

  test('says what it said when it was made, and is healthy', async () => {
    await using copy = copyOf(home)
    await using store = await copy.open()
    expect(await tell(store)).toEqual(JSON.parse(readFileSync(join(home, 'told.json'), 'utf8')))
    expect(await damageIn(store)).toEqual([])
  })

  test('is gone on with: what was done before is known, what comes is kept, and it stays healthy', async () => {
    await using copy = copyOf(home)
    const before = JSON.parse(readFileSync(join(home, 'told.json'), 'utf8')) as Record<string, { messages?: unknown[] }>
    const live = Object.keys(before).filter((key) => before[key]?.messages !== undefined)
    expect(live.length).toBeGreaterThan(5)
    {
      await using store = await copy.open({ limits: { segmentBytes: 1500 } })
      const talk = store.session('talk')
      expect(await talk.append({ id: 'm1', role: 'user', content: 'My parcel is lost.' }, { key: 'first' })).toMatchObject({
        duplicate: true,
      })
      await expect(talk.append({ id: 'm1', role: 'user', content: 'Something else.' })).rejects.toMatchObject({ code: 'CONFLICT' })
      for (const key of live) {
        const [space = '', id = ''] = key.split('/')
        for (let i = 0; i < 5; i++)
          await store
            .in(space)
            .session(id)
            .append({ id: `new ${i}`, role: 'user', content: `More: ${i}` })
      }
      await store.session('deleted').restore()
    }
    await using store = await copy.open()
    for (const key of live) {
      const [space = '', id = ''] = key.split('/')
      const { messages } = await store.in(space).session(id).messages({ limit: 1000, archived: true })
      expect(messages.slice(0, -5)).toMatchObject(before[key]?.messages ?? [])
      expect(messages.slice(-5).map((message) => message.id)).toEqual(['new 0', 'new 1', 'new 2', 'new 3', 'new 4'])
    }
    expect((await store.session('deleted').messages()).messages.map(({ id }) => id)).toEqual(['before'])
    expect(await damageIn(store)).toEqual([])
  })

  test('keeps working: it is committed, forked, described and reverted, with lines of this version after those that it has', async () => {
    await using copy = copyOf(home)
    const before = versionsIn(copy.directory)
    {
      await using store = await copy.open({ limits: { segmentBytes: 1500 } })
      const talk = store.session('talk')
      await talk.append({ id: 'late 1', role: 'user', content: 'It has come.' })
      await talk.commit()
      await new Worker(store, { model: MODEL }).drain()
      await talk.append([
        { id: 'late 2', role: 'user', content: 'Kept.' },
        { id: 'late 3', role: 'user', content: 'Taken back.' },
      ])
      await talk.snapshot('late')
      await talk.revert({ message: 'late 2' })
      await talk.describe({ title: 'Found parcel' })
      await talk.share()
      const fork = await talk.fork({ id: 'late fork', at: 'm3' })
      await fork.append({ id: 'late 4', role: 'user', content: 'In the fork.' })
      // Of a fork that was made before, whose past has lines of the version that it was made with.
      await store.session('fork').fork({ id: 'fork of a fork' })
    }
    await using store = await copy.open()
    const talk = store.session('talk')
    const told = JSON.parse(readFileSync(join(home, 'told.json'), 'utf8'))['default/talk']
    const { messages } = await talk.messages({ limit: 1000, archived: true })
    expect(messages.map(({ id }) => id)).toEqual([...told.messages.map(({ id }: { id: string }) => id), 'late 1', 'late 2'])
    const info = await talk.info()
    expect(info).toMatchObject({ title: 'Found parcel', tags: told.tags, status: 'ok' })
    expect(info.snapshots.map(({ name: snapshot }) => snapshot)).toEqual(['looked', 'late'])
    expect(info.shares).toHaveLength(told.shares.length + 1)
    expect((await talk.archives()).at(-1)).toMatchObject({ status: 'completed', abstract: 'Late', messageCount: told.messages.length + 1 })
    expect((await store.session('late fork').messages({ archived: true })).messages.map(({ id }) => id)).toEqual([
      'm1',
      'm2',
      'm3',
      'late 4',
    ])
    expect((await store.session('fork of a fork').messages()).messages.map(({ id }) => id)).toContain('f1')
    expect(await damageIn(store)).toEqual([])
    // Checkpoints of this version take the place of earlier ones, but no line is written again.
    expect(versionsIn(copy.directory)).toEqual(new Set([...before, FORMAT_VERSION]))
  })
})

test('there is a golden record of every type that there is, in the format that this version writes', () => {
  for (const name of CURRENT) {
    const golden = typesIn(`${STORES}/${name}`)
    expect(RECORD_TYPES.filter((type) => !golden.has(type))).toEqual([])
  }
})

test('a golden store was released, or is of the format that this version writes', () => {
  expect(readdirSync(join(ROOT, STORES)).toSorted()).toEqual([...new Set([...Object.keys(RELEASED), ...CURRENT])].toSorted())
})

test('the bytes of golden stores are those that were released', () => {
  const digests = Object.keys(RELEASED).map((name) => {
    const files = readSources(`${STORES}/${name}/store`, ['.jsonl', '.json']).sort((a, b) => (a.path < b.path ? -1 : 1))
    const hash = createHash('sha256')
    for (const { path } of files) hash.update(path).update(readFileSync(join(ROOT, path)))
    return [name, hash.digest('hex').slice(0, 16)]
  })
  expect(Object.fromEntries(digests)).toEqual(RELEASED)
})
