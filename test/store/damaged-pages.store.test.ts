import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import type { PageOptions } from '../../src/store/messages/transcript.ts'
import type { Session } from '../../src/store/session.ts'
import { useDirectory } from './directory.ts'
import { cut, flip, linesOf, removeIdFiles, rot, segmentsOf, type WrittenLine, zero } from './spoil.ts'

const directory = useDirectory()
const SMALL = { limits: { segmentBytes: 1500 } }

/** Messages m0, m1 and so on, two in a record. */
async function write(count: number, options: object = SMALL): Promise<void> {
  const store = await directory().open(options)
  const session = store.session<JsonObject>('s')
  await say(session, 0, count)
  await store.close()
}

async function say(session: Session<JsonObject>, from: number, to: number, parent?: string): Promise<void> {
  for (let i = from; i < to; i += 2) {
    const ids = [`m${i}`, `m${i + 1}`].slice(0, to - i)
    await session.append(
      ids.map((id) => ({ role: 'user', content: id.padEnd(60, '.') })),
      { ids, ...(parent === undefined || i > from ? {} : { parent }) },
    )
  }
}

async function open(id = 's'): Promise<Session<JsonObject>> {
  return (await directory().open(SMALL)).session<JsonObject>(id)
}

/** Everything that a caller gets who reads page by page. */
async function readAll(
  session: Session<JsonObject>,
  options: PageOptions,
): Promise<{ ids: string[]; damage: DamagedPlace[]; pages: number }> {
  const ids: string[] = []
  const damage: DamagedPlace[] = []
  const isForward = options.from === 'start'
  for (let pages = 1; ; pages++) {
    const edge = isForward ? ids.at(-1) : ids[0]
    const page = await session.messages({ ...options, ...(edge === undefined ? {} : isForward ? { after: edge } : { before: edge }) })
    const read = page.messages.map(({ id }) => id)
    if (isForward) ids.push(...read)
    else ids.unshift(...read)
    damage.push(...page.damage)
    if (!page.more) return { ids, damage, pages }
  }
}

function lineWith(lines: readonly WrittenLine[], id: string): WrittenLine {
  return lines.find(({ ids }) => ids.includes(id)) as WrittenLine
}

function knownCount(damage: readonly DamagedPlace[]): number {
  return damage.reduce((sum, { count }) => sum + (count ?? 0), 0)
}

const BOTH = [{ from: 'start' }, { from: 'end' }] as const

describe.each(BOTH)('pages read from the $from', ({ from }) => {
  test('have no damage where nothing is damaged', async () => {
    await write(20)
    expect(await readAll(await open(), { from, limit: 3 })).toMatchObject({ damage: [], ids: { length: 20 } })
  })

  test.each([
    ['rotten', rot, 'rotten'],
    ['full of zeros', zero, 'zeros'],
  ] as const)('report a record that is %s once, with its position and the number of its messages', async (_, spoil, reason) => {
    await write(30)
    const line = lineWith(await linesOf(directory().path, 's'), 'm8')
    await spoil(line)
    for (const limit of [1, 2, 7, 8, 9, 1000]) {
      const { ids, damage } = await readAll(await open(), { from, limit })
      expect(ids).toHaveLength(28)
      expect(damage, `limit ${limit}`).toMatchObject([{ position: line.position, count: 2, reason }])
      expect(damage[0]?.since).toEqual(expect.any(String))
    }
  })

  test('report a segment that was deleted', async () => {
    await write(60)
    const [, second = ''] = await segmentsOf(directory().path, 's')
    const lost = (await linesOf(directory().path, 's')).filter(({ file }) => file === second)
    await rm(second)
    const count = lost.flatMap(({ ids }) => ids).length
    expect(count).toBeGreaterThan(2)
    const { ids, damage } = await readAll(await open(), { from, limit: 5 })
    expect(damage).toMatchObject([{ position: lost[0]?.position === undefined ? 0 : expect.any(Number), count, reason: 'missing' }])
    expect(ids).toHaveLength(60 - count)
  })

  test('report a segment that was cut and has a successor', async () => {
    await write(60)
    const [, second = ''] = await segmentsOf(directory().path, 's')
    const lines = (await linesOf(directory().path, 's')).filter(({ file, ids }) => file === second && ids.length > 0)
    const last = lines.at(-2) as WrittenLine
    await cut(second, last.offset)
    const { ids, damage } = await readAll(await open(), { from, limit: 5 })
    expect(damage).toMatchObject([{ position: last.position, count: 4, reason: 'missing' }])
    expect(ids).toHaveLength(56)
  })

  test('report a first segment that was deleted', async () => {
    await write(60)
    const [first = ''] = await segmentsOf(directory().path, 's')
    const lost = (await linesOf(directory().path, 's')).filter(({ file }) => file === first)
    await rm(first)
    const { ids, damage } = await readAll(await open(), { from, limit: 5 })
    expect(knownCount(damage)).toBe(lost.flatMap((line) => line.ids).length)
    // The messages that are missing, and the start of the journal, which may have held anything.
    expect(damage.map(({ reason }) => reason).toSorted()).toEqual(['missing', 'vanished'])
    expect(ids.length + knownCount(damage)).toBe(60)
  })

  test('report a line whose newline rotted, although it looks like one that a writer left half-written', async () => {
    await write(20)
    const line = lineWith(await linesOf(directory().path, 's'), 'm8')
    await flip(line.file, line.offset + line.length)
    const { ids, damage } = await readAll(await open(), { from, limit: 3 })
    expect(damage).toMatchObject([{ position: line.position, count: 2, reason: 'rotten' }])
    expect(ids).toHaveLength(18)
  })

  test('report that the newest record is rotten, and that nothing says how many messages it had', async () => {
    await write(20)
    const line = lineWith(await linesOf(directory().path, 's'), 'm18')
    await rot(line)
    const { ids, damage } = await readAll(await open(), { from, limit: 3 })
    expect(damage).toMatchObject([{ position: line.position, count: null, reason: 'rotten' }])
    expect(ids).toHaveLength(18)
  })

  test('report a session of which every message is lost', async () => {
    await write(6)
    const lines = (await linesOf(directory().path, 's')).filter(({ ids }) => ids.length > 0)
    for (const line of lines) await rot(line)
    const { ids, damage } = await readAll(await open(), { from, limit: 3 })
    expect(ids).toEqual([])
    expect(damage).toMatchObject([{ position: lines[0]?.position, count: null, reason: 'rotten' }])
  })

  test('report what a fork inherits from a damaged parent, with the session that it is in', async () => {
    await write(30)
    const store = await directory().open(SMALL)
    const fork = await store.session<JsonObject>('s').fork({ id: 'fork', at: 'm19' })
    await say(fork, 30, 40)
    await store.close()
    const [inherited, own] = [
      lineWith(await linesOf(directory().path, 's'), 'm8'),
      lineWith(await linesOf(directory().path, 'fork'), 'm32'),
    ]
    await rot(inherited)
    await rot(own)
    const { ids, damage } = await readAll(await open('fork'), { from, limit: 3 })
    expect(ids).toHaveLength(26)
    expect(damage.toSorted((a, b) => (a.session ?? '').localeCompare(b.session ?? ''))).toMatchObject([
      { position: own.position, count: 2, reason: 'rotten' },
      { position: inherited.position, count: 2, reason: 'rotten', session: 's' },
    ])
  })

  test('have as many messages and lost ones together as were written, whichever bytes are flipped', async () => {
    await write(40)
    const files = await segmentsOf(directory().path, 's')
    const whole = new Map(await Promise.all(files.map(async (file) => [file, await readFile(file)] as const)))
    const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size))
    const places = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(7)), { minLength: 1, maxLength: 5 })
    const check = async (flips: readonly (readonly [number, number, number])[], limit: number): Promise<void> => {
      for (const [i, offset, bit] of flips) {
        const file = files[i % files.length] as string
        // The last newline of a journal stays: without it, its line looks like a write that has not ended.
        await flip(file, offset % ((sizes[i % files.length] as number) - 1), bit)
      }
      await removeIdFiles(directory().path)
      const store = await directory().open(SMALL)
      const session = store.session<JsonObject>('s')
      const { ids, damage } = await readAll(session, { from, limit })
      const total = (await session.info()).totalMessageCount
      await store.close()
      for (const [file, bytes] of whole) await writeFile(file, bytes)
      expect(ids.length + knownCount(damage)).toBe(total)
      // What followed the newest message that can be read is not counted, but it is reported.
      if (total < 40) expect(damage.filter(({ count }) => count === null)).toHaveLength(1)
      expect(new Set(damage.map(({ position }) => position)).size).toBe(damage.length)
    }
    await fc.assert(fc.asyncProperty(places, fc.integer({ min: 1, max: 50 }), check), { numRuns: 60 })
  })
})

describe('a page', () => {
  test('that begins inside a gap reports the part of it that it lacks', async () => {
    await write(40)
    const lines = await linesOf(directory().path, 's')
    for (const id of ['m10', 'm12', 'm14']) await rot(lineWith(lines, id))
    const session = await open()
    const page = await session.messages({ depth: 13, limit: 4 })
    expect(page.messages.map(({ depth }) => depth)).toEqual([17, 18, 19, 20])
    expect(page.damage).toMatchObject([{ position: lineWith(lines, 'm10').position, count: 4 }])
    expect(await session.messages({ depth: 17, limit: 4 })).toMatchObject({ damage: [] })
  })

  test('of live messages reports nothing of what archives hold, and one of all messages does', async () => {
    const before = await directory().open(SMALL)
    const written = before.session<JsonObject>('s')
    await say(written, 0, 20)
    await written.commit()
    await say(written, 20, 40)
    await before.close()
    const lines = await linesOf(directory().path, 's')
    await rot(lineWith(lines, 'm8'))
    await rot(lineWith(lines, 'm28'))
    const session = await open()
    expect((await session.messages({ limit: 100 })).damage).toMatchObject([{ position: lineWith(lines, 'm28').position, count: 2 }])
    expect((await session.messages({ limit: 100, archived: true })).damage).toMatchObject([{ count: 2 }, { count: 2 }])
  })

  test('of another branch reports the damage of that branch', async () => {
    const before = await directory().open(SMALL)
    const written = before.session<JsonObject>('s')
    await say(written, 0, 20)
    await say(written, 20, 30, 'm9')
    await before.close()
    const line = lineWith(await linesOf(directory().path, 's'), 'm14')
    await rot(line)
    const session = await open()
    expect((await session.messages()).damage.map(({ count }) => count).filter((count) => count !== 0)).toEqual([])
    const page = await session.messages({ branch: 'm19' })
    expect(page.damage.filter(({ count }) => count !== 0)).toMatchObject([{ position: line.position, count: 2 }])
    expect(page.messages).toHaveLength(18)
  })

  test('shows the content before a replacement that is rotten, and reports that', async () => {
    const before = await directory().open(SMALL)
    const written = before.session<JsonObject>('s')
    await say(written, 0, 10)
    await written.replace('m4', { role: 'user', content: 'new' })
    await say(written, 10, 30)
    await before.close()
    const line = (await linesOf(directory().path, 's')).find(({ type }) => type === 'message.replaced') as WrittenLine
    await rot(line)
    const page = await (await open()).messages({ from: 'start', limit: 6 })
    expect(page.messages[4]?.message.content).toContain('m4')
    expect(page.damage).toMatchObject([{ position: line.position, count: 0, reason: 'rotten' }])
  })
})

describe('a message that is asked for by its id', () => {
  test.each([
    ['with the id files as they were', async () => undefined],
    ['with the id files deleted', () => removeIdFiles(directory().path)],
  ])('is DAMAGED if its record is rotten, %s', async (_, prepare) => {
    await write(40)
    await rot(lineWith(await linesOf(directory().path, 's'), 'm8'))
    await prepare()
    const session = await open()
    const damaged = { code: 'DAMAGED', message: expect.stringContaining('holdfast doctor') }
    await expect(session.message('m8')).rejects.toMatchObject(damaged)
    await expect(session.record('m8')).rejects.toMatchObject(damaged)
    await expect(session.revisions('m8')).rejects.toMatchObject(damaged)
    await expect(session.messages({ before: 'm8' })).rejects.toMatchObject(damaged)
    await expect(session.fork({ at: 'm8' })).rejects.toMatchObject(damaged)
    await expect(session.replace('m8', { content: 'x' })).rejects.toMatchObject(damaged)
    await expect(session.revert({ message: 'm8' })).rejects.toMatchObject(damaged)
    expect(await session.message('m10')).toMatchObject({ id: 'm10' })
  })

  test('is DAMAGED in a fork that would inherit it', async () => {
    await write(40)
    const before = await directory().open(SMALL)
    await before.session<JsonObject>('s').fork({ id: 'fork', at: 'm19' })
    await before.close()
    await rot(lineWith(await linesOf(directory().path, 's'), 'm8'))
    await removeIdFiles(directory().path)
    await expect((await open('fork')).message('m8')).rejects.toMatchObject({ code: 'DAMAGED' })
  })

  test('is not there if nothing is damaged, or if only what a fork does not inherit is', async () => {
    await write(40)
    const before = await directory().open(SMALL)
    await before.session<JsonObject>('s').fork({ id: 'fork', at: 'm19' })
    await before.close()
    expect(await (await open()).message('none')).toBeUndefined()
    await rot(lineWith(await linesOf(directory().path, 's'), 'm30'))
    await removeIdFiles(directory().path)
    expect(await (await open('fork')).message('none')).toBeUndefined()
    await expect((await open()).message('none')).rejects.toMatchObject({ code: 'DAMAGED', details: { places: 1 } })
  })
})
