/** Damage that is hard to accept, and what is lost after that. On the real disk; files are harmed line by line. */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { journalName } from '../../src/engine/names.ts'
import { backUp } from '../../src/engines/files/backup.ts'
import { openStore, restoreSession } from '../../src/index.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import type { Store } from '../../src/store/store.ts'

const FIRST = '0000000000000000.jsonl'
const SECOND = '0000004294967296.jsonl'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-accepted-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
})

async function using<T>(work: (store: Store) => Promise<T>): Promise<T> {
  await using store = await openStore(join(directory, 'store'))
  return await work(store)
}

const say = (id: string, ...texts: string[]): Promise<void> =>
  using(async (store) => {
    const session = store.session(id)
    for (const text of texts) await session.append({ role: 'user', content: text })
  })

const accept = (id = 'a') => using(async (store) => store.session(id).acceptDamage())

function fileOf(id = 'a', name = FIRST): string {
  return join(directory, 'store', 'sessions', journalName('default', id), name)
}

/** Changes the bytes of a file. `line` returns where the line with a text begins, and where the next one does. */
function harm(change: (bytes: Buffer, line: (text: string) => { from: number; to: number }) => Buffer | undefined, path = fileOf()): void {
  const bytes = readFileSync(path)
  const line = (text: string): { from: number; to: number } => {
    const at = bytes.indexOf(text)
    expect(at).toBeGreaterThan(-1)
    return { from: bytes.lastIndexOf('\n', at) + 1, to: bytes.indexOf('\n', at) + 1 }
  }
  writeFileSync(path, change(bytes, line) ?? bytes)
}

async function damageOf(id = 'a'): Promise<DamagedPlace[]> {
  return using(async (store) => [...(await store.session(id).messages({ from: 'start', limit: 100 })).damage])
}

const kinds = (session?: string): Promise<string[]> =>
  using(async (store) => {
    const found: string[] = []
    for await (const { kind, session: id } of doctor(store, session === undefined ? {} : { session })) found.push(`${kind} ${id}`)
    return found
  })

const statusOf = (id = 'a') => using(async (store) => (await store.list()).sessions.find((one) => one.id === id)?.status)

describe('a session of which only a grant is left', () => {
  async function losesAll(change: Parameters<typeof harm>[0]): Promise<void> {
    await say('a', 'one', 'two', 'three')
    await using(async (store) => store.session('a').fork({ id: 'fork' }))
    harm(change)
    await using(async (store) => {
      const session = store.session('a')
      await expect(session.messages()).rejects.toMatchObject({ code: 'DAMAGED' })
      await expect(session.append({ role: 'user', content: 'again' })).rejects.toMatchObject({ code: 'DAMAGED' })
      await expect(store.create({ id: 'a' })).rejects.toMatchObject({ code: 'DAMAGED' })
    })
    expect(await kinds('a')).toEqual(['vanished a'])
    expect(await statusOf()).toBe('damaged')
    expect(await accept()).toMatchObject({ duplicate: false, accepted: [{ position: 0, count: null, reason: 'vanished' }] })
    await say('a', 'after')
    expect(await damageOf()).toMatchObject([{ position: 0, accepted: true }])
    expect(await kinds('a')).toEqual(['acknowledged a'])
  }

  test('after zeros is not created again, and can be accepted', () =>
    losesAll((bytes, line) => void bytes.fill(0, 0, line('fork.granted').from - 2)))

  test('after its first line changed places with a message is not created again, and can be accepted', () =>
    losesAll((bytes, line) => {
      const [created, last] = [line('session.created'), line('"three"')]
      const part = (from: number, to?: number): Buffer => bytes.subarray(from, to)
      return Buffer.concat([
        ...[part(0, created.from), part(last.from, last.to), part(created.to, last.from)],
        ...[part(created.from, created.to), part(last.to)],
      ])
    }))
})

describe('what is lost next to an accepted loss is not accepted with it', () => {
  beforeEach(async () => {
    await say('a', 'one', 'two', 'three', 'four', 'five')
    harm((bytes, line) => bytes.subarray(0, line('"four"').from))
    await accept()
    await say('a', 'six', 'seven')
  })

  test.each<[string, () => void]>([
    ['cut again', () => harm((bytes, line) => bytes.subarray(0, line('"three"').from))],
    ['emptied', () => truncateSync(fileOf(), 0)],
    ['deleted', () => rmSync(fileOf())],
  ])('if its segment is %s', async (_, again) => {
    again()
    const [place, ...others] = await damageOf()
    expect(others).toEqual([])
    expect(place).not.toHaveProperty('accepted')
    expect(await kinds('a')).toContainEqual(expect.stringMatching(/^(vanished|cut-short) a/))
    expect(await accept()).toMatchObject({ duplicate: false })
    expect(await damageOf()).toMatchObject([{ accepted: true }])
    expect((await kinds('a')).filter((one) => /^(vanished|cut-short)/.test(one))).toEqual([])
    await say('a', 'eight')
  })

  test('if the segment after it is swapped with that of another session', async () => {
    await say('b', 'foreign')
    renameSync(fileOf('a', SECOND), fileOf('a', 'aside'))
    renameSync(fileOf('b'), fileOf('a', SECOND))
    renameSync(fileOf('a', 'aside'), fileOf('b'))
    expect(await kinds('a')).toContain('wrong-identity a')
  })

  test('pages of any size report the accepted place once', async () => {
    await using(async (store) => {
      const session = store.session('a')
      for (const limit of [1, 2, 3, 4]) {
        const reported: object[] = []
        for (let after: string | undefined; ; ) {
          const page = await session.messages({ ...(after === undefined ? { from: 'start' } : { after }), limit })
          reported.push(...page.damage)
          after = page.messages.at(-1)?.id as string
          if (!page.more) break
        }
        expect(reported).toHaveLength(1)
      }
    })
  })
})

test('a message whose newline rotted is reported at its place and can be accepted, also next to a lost copy', async () => {
  await say('a', 'one', 'two', 'three')
  await using(async (store) => store.session('a').describe({ title: 'A title' }))
  await say('a', 'four')
  harm((bytes, line) => {
    const { to } = line('"three"')
    bytes[to - 1] = 0x0b
    const title = line('session.described')
    bytes.fill(0, title.from, title.to)
    return undefined
  })
  const place = { count: 1, reason: 'rotten' }
  expect(await damageOf()).toMatchObject([place])
  expect(await kinds('a')).toEqual(expect.arrayContaining(['rotten a', 'lost-copy a']))
  expect(await accept()).toMatchObject({ duplicate: false, accepted: [{ ...place, accepted: true }] })
  expect(await damageOf()).toMatchObject([{ ...place, accepted: true }])
  expect((await kinds('a')).toSorted()).toEqual(['acknowledged a', 'lost-copy a'])
  expect(await statusOf()).toBe('ok')
})

test('half a line of a writer that died does not keep a session damaged next to a rotten line that was accepted', async () => {
  await say('a', 'one', 'two')
  harm((bytes) => Buffer.concat([bytes, Buffer.from('{"v":2,"id":"half')]))
  await say('a', 'three', 'four')
  harm((bytes, line) => {
    const { from, to } = line('"three"')
    bytes[Math.floor((from + to) / 2)] = 0
    return undefined
  })
  expect(await statusOf()).toBe('damaged')
  await accept()
  expect((await kinds('a')).toSorted()).toEqual(['acknowledged a', 'torn a'])
  expect(await statusOf()).toBe('ok')
})

test('zeros up to the end are one loss, which a fork reports as accepted once its origin has accepted it', async () => {
  await say('a', 'one', 'two', 'three', 'four')
  await using(async (store) => store.session('a').fork({ id: 'fork' }))
  await say('a', 'five')
  harm((bytes, line) => bytes.fill(0, line('"three"').from))
  expect(await accept()).toMatchObject({ duplicate: false })
  expect(await damageOf('fork')).toMatchObject([{ count: 2, session: 'a', accepted: true }])
})

test('a line that bytes were cut out of stays damage after the loss that follows it was accepted', async () => {
  await say('a', 'one', 'two', 'three', 'four', 'five')
  harm((bytes, line) => {
    const { from } = line('"three"')
    return Buffer.concat([bytes.subarray(0, from + 100), bytes.subarray(from + 140)])
  })
  const places = await damageOf()
  // On a slow machine, a watermark of an earlier message may have been written, too. Then the loss begins with the line that was cut.
  expect([['rotten', 'vanished'], ['vanished']]).toContainEqual(places.map(({ reason }) => reason))
  await accept()
  expect(await damageOf()).toMatchObject(places.map(({ reason }) => ({ reason, accepted: true })))
  expect(await kinds('a')).toEqual(places.map(() => 'acknowledged a'))
})

test('a lost beginning is one finding, before it is accepted and after', async () => {
  await say('a', 'one', 'two', 'three')
  harm((bytes) => bytes.subarray(300))
  expect(await kinds('a')).toEqual(['vanished a'])
  await accept()
  expect(await kinds('a')).toEqual(['acknowledged a'])
})

describe('a rotten line that was accepted', () => {
  const backup = (): string => join(directory, 'backup')

  beforeEach(async () => {
    await say('a', 'one', 'two', 'three')
    await backUp(join(directory, 'store'), backup())
    harm((bytes, line) => {
      const { from, to } = line('"two"')
      bytes[Math.floor((from + to) / 2)] = 0x58
      return undefined
    })
    await accept()
    await say('a', 'four')
  })

  test('does not keep new messages out of the backup', async () => {
    const done = await backUp(join(directory, 'store'), backup())
    expect(done).toMatchObject({ differing: [], replaced: [{ session: 'a' }] })
    const [path = ''] = readdirSync(join(backup(), 'sessions'), { recursive: true })
      .filter((name) => String(name).endsWith(FIRST))
      .map(String)
    expect(readFileSync(join(backup(), 'sessions', path), 'utf8')).toContain('"four"')
    expect(await backUp(join(directory, 'store'), backup())).toMatchObject({ copied: 0, differing: [], replaced: [] })
  })

  test('is no longer reported once it was restored from a backup', async () => {
    expect(await damageOf()).toMatchObject([{ count: 1, accepted: true }])
    expect(await restoreSession(backup(), join(directory, 'store'), 'a')).toMatchObject({ status: 'ok' })
    expect(await damageOf()).toEqual([])
  })
})
