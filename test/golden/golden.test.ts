/** Stores that earlier versions wrote: each is read as it was, found healthy, and gone on with, in a copy. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import type { Store } from '../../src/store/store.ts'
import { ROOT, readSources } from '../tidy/sources.ts'
import { copyOf } from './copy.ts'
import { tell } from './tell.ts'

const STORES = 'test/golden/stores'

async function damageIn(store: Store): Promise<unknown[]> {
  const found = []
  for await (const finding of doctor(store)) if (finding.severity === 'damage') found.push(finding)
  return found
}

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
      const talk = await store.session('talk')
      expect(await talk.append({ id: 'm1', role: 'user', content: 'My parcel is lost.' }, { key: 'first' })).toMatchObject({
        duplicate: true,
      })
      await expect(talk.append({ id: 'm1', role: 'user', content: 'Something else.' })).rejects.toMatchObject({ code: 'CONFLICT' })
      for (const key of live) {
        const [space = '', id = ''] = key.split('/')
        for (let i = 0; i < 5; i++)
          await (await store.in(space).session(id)).append({ id: `new ${i}`, role: 'user', content: `More: ${i}` })
      }
      await (await store.session('deleted')).restore()
    }
    await using store = await copy.open()
    for (const key of live) {
      const [space = '', id = ''] = key.split('/')
      const { messages } = await (await store.in(space).session(id)).messages({ limit: 1000, archived: true })
      expect(messages.slice(0, -5)).toMatchObject(before[key]?.messages ?? [])
      expect(messages.slice(-5).map((message) => message.id)).toEqual(['new 0', 'new 1', 'new 2', 'new 3', 'new 4'])
    }
    expect((await (await store.session('deleted')).messages()).messages.map(({ id }) => id)).toEqual(['before'])
    expect(await damageIn(store)).toEqual([])
  })
})

test('there is a golden record of every type that there is', () => {
  const source = readFileSync(join(ROOT, 'src/record/record.ts'), 'utf8')
  const [, union = ''] = source.split('export type RecordType =')
  const types = [...(union.split('\n\n')[0] ?? '').matchAll(/\| '([^']+)'/g)].map(([, type]) => type as string)
  expect(types.length).toBeGreaterThan(20)
  const golden = typesIn(STORES)
  expect(types.filter((type) => !golden.has(type))).toEqual([])
})

/** What a golden store is made of; one that was released is never made again, nor converted by a checkout. */
test('the bytes of golden stores are those that were released', () => {
  const digests = readdirSync(join(ROOT, STORES)).map((name) => {
    const files = readSources(`${STORES}/${name}/store`, ['.jsonl', '.json']).sort((a, b) => (a.path < b.path ? -1 : 1))
    const hash = createHash('sha256')
    for (const { path } of files) hash.update(path).update(readFileSync(join(ROOT, path)))
    return [name, hash.digest('hex').slice(0, 16)]
  })
  expect(Object.fromEntries(digests)).toEqual({ 'format-1': '521da5314cdb8654', 'format-1-sealed': '3fafb727554b4edd' })
})
