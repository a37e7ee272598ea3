/** Where the doctor reports bytes that vanished, and what it leaves out beside them. On the real disk. */
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { Finding } from '../../src/verify/findings.ts'

const LONG = 'x'.repeat(400_000)

interface Harmed {
  readonly directory: string
  /** The segments of the session, and the size of each, before the harm. */
  readonly segments: readonly { readonly path: string; readonly first: number; readonly size: number }[]
}

/** A session whose messages fill one segment or several. */
async function talk(content: string): Promise<Harmed> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-losses-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const store = await openStore(directory)
  for (let i = 0; i < 6; i++) await store.session('talk').append({ role: 'user', content })
  await store.close()
  const folder = join(directory, 'sessions', journalName('default', 'talk'))
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const segments = files.toSorted().map((name) => {
    const path = join(folder, name)
    return { path, first: Number.parseInt(name, 10), size: statSync(path).size }
  })
  return { directory, segments }
}

async function withStore<T>({ directory }: Harmed, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(directory)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

function examine(harmed: Harmed): Promise<Finding[]> {
  return withStore(harmed, async (store) => {
    const findings: Finding[] = []
    for await (const finding of doctor(store, { session: 'talk' })) findings.push(finding)
    return findings
  })
}

function accept(harmed: Harmed): Promise<unknown> {
  return withStore(harmed, async (store) => store.session('talk').acceptDamage())
}

test('half a line that a cut left is no finding, before the loss is accepted and after', async () => {
  const harmed = await talk('short')
  const [{ path, size } = expect.fail()] = harmed.segments
  const offset = Math.floor(size / 2)
  truncateSync(path, offset)
  expect(readFileSync(path, 'utf8')).not.toMatch(/\n$/)
  expect(await examine(harmed)).toMatchObject([{ kind: 'vanished', segment: 0, offset, length: size - offset }])
  await accept(harmed)
  expect(await examine(harmed)).toMatchObject([{ kind: 'acknowledged', segment: 0, offset, length: size - offset }])
})

test('a segment that a cut left without its beginning is no unfinished roll', async () => {
  const harmed = await talk(LONG)
  const last = harmed.segments.at(-1) ?? expect.fail()
  truncateSync(last.path, 100)
  expect(await examine(harmed)).toMatchObject([{ kind: 'vanished', segment: last.first, offset: 100 }])
  await accept(harmed)
  expect((await examine(harmed)).map(({ kind }) => kind)).toEqual(['acknowledged'])
})

test('half a line of a writer that died is a note in a journal that lost nothing', async () => {
  const harmed = await talk('short')
  const [{ path, size } = expect.fail()] = harmed.segments
  appendFileSync(path, '{"v":2,"id":"half')
  expect(await examine(harmed)).toMatchObject([{ kind: 'torn', segment: 0, offset: size }])
})

test('zeros over a message stay damage after the session went on in later segments: the record after it knew it', async () => {
  const harmed = await talk('short')
  await withStore(harmed, async (store) => store.session('talk').describe({ title: 'A title' }))
  const [{ path } = expect.fail()] = harmed.segments
  const bytes = readFileSync(path)
  const start = bytes.lastIndexOf('{"v":', bytes.lastIndexOf('"short"'))
  writeFileSync(path, bytes.fill(0, start, bytes.indexOf('\n', start)))
  const lostPage = [{ kind: 'lost-page', segment: 0, offset: start }]
  expect(await examine(harmed)).toMatchObject(lostPage)
  await withStore(harmed, async (store) => {
    const session = store.session('talk')
    for (let i = 0; i < 12; i++) await session.append({ role: 'user', content: LONG })
  })
  expect(readdirSync(dirname(path)).filter((name) => name.endsWith('.jsonl')).length).toBeGreaterThan(1)
  expect(await examine(harmed)).toMatchObject(lostPage)
})

test('a deleted last segment has vanished from its own file, and an accepted loss names that file too', async () => {
  const harmed = await talk(LONG)
  const last = harmed.segments.at(-1) ?? expect.fail()
  expect(last.first).toBeGreaterThan(0)
  rmSync(last.path)
  expect(await examine(harmed)).toMatchObject([{ kind: 'vanished', segment: last.first, offset: 0, length: last.size }])
  const reports = await withStore(harmed, async (store) => store.session('talk').damage())
  const before = harmed.segments.at(-2) ?? expect.fail()
  expect(reports).toEqual([{ segment: before.first, offset: before.size, length: last.size, kind: 'vanished' }])
  await accept(harmed)
  const [note = expect.fail(), ...more] = await examine(harmed)
  expect(more).toEqual([])
  expect(note).toMatchObject({ kind: 'acknowledged', segment: last.first })
  // The beginning of the segment was made again before the loss was accepted.
  expect((note.offset ?? 0) + (note.length ?? 0)).toBe(last.size)
})

test('a cut later segment names its file and the offset in it', async () => {
  const harmed = await talk(LONG)
  const last = harmed.segments.at(-1) ?? expect.fail()
  truncateSync(last.path, last.size - 1000)
  expect(await examine(harmed)).toMatchObject([{ kind: 'vanished', segment: last.first, offset: last.size - 1000, length: 1000 }])
})

test('errors and findings about a loss name commands that can be typed as they are printed', async () => {
  const harmed = await talk('short')
  const [{ path } = expect.fail()] = harmed.segments
  rmSync(path)
  const ways = '`holdfast restore-backup <backup> --session talk`, or run `holdfast accept-damage talk` to continue without them.'
  expect((await examine(harmed))[0]?.action).toContain(ways)
  await withStore(harmed, async (store) => {
    const session = store.session('talk')
    await expect(session.messages()).rejects.toThrow(ways)
    await expect(session.append({ role: 'user', content: 'x' })).rejects.toThrow(ways)
  })
})

test('an append whose file was cut under an open store names the session in the commands of its error', async () => {
  const harmed = await talk('short')
  const [{ path, size } = expect.fail()] = harmed.segments
  await withStore(harmed, async (store) => {
    const session = store.session('talk')
    await session.append({ role: 'user', content: 'x' })
    truncateSync(path, size - 40)
    await expect(session.append({ role: 'user', content: 'y' })).rejects.toThrow('`holdfast accept-damage talk`')
  })
})

test('the doctor has a note if the watermarks were deleted, but not while they may still be written', async () => {
  const { directory } = await talk('short')
  const kinds = async (laterMs: number): Promise<string[]> => {
    const store = await openStore(directory, { clock: { ...systemClock, now: () => Date.now() + laterMs } })
    const found: string[] = []
    for await (const { kind } of doctor(store)) found.push(kind)
    await store.close()
    return found
  }
  expect(await kinds(60_000)).toEqual([])
  rmSync(join(directory, 'watermarks'), { recursive: true })
  expect(await kinds(0)).toEqual([])
  expect(await kinds(60_000)).toEqual(['no-watermarks'])
  const store = await openStore(directory)
  await store.session('talk').append({ role: 'user', content: 'more' })
  await store.close()
  expect(await kinds(60_000)).toEqual([])
})
