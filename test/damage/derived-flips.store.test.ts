/**
 * Feed, id files and watermarks with flipped bits, cut, emptied or full of garbage, while no process has the store open and while one has. They are
 * derived: no caller gets an error, nothing is missing from a list, no message is written twice, and nothing is reported as damage.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { runs, SEED } from '../long.ts'
import { Random } from '../simulation/random.ts'

const LIMITS = { limits: { segmentBytes: 2000, reserveBytes: 1000 } }
const SESSIONS = ['talk', 'other']
const MESSAGES = 8
const CASES = runs(90, 4000)
/** Of one store that is in use. */
const CASES_IN_USE = 30

let parent: string
let original: string
beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-derived-'))
  original = join(parent, 'original')
  await using store = await openStore(original, LIMITS)
  for (const id of SESSIONS) for (let n = 1; n <= MESSAGES; n++) await appendNumber(store, id, n)
  await store.list()
  await store.search('needle')
})
afterAll(() => rmSync(parent, { recursive: true }))

function appendNumber(store: Store, id: string, n: number): Promise<{ readonly duplicate: boolean }> {
  return store.session(id).append({ role: 'user', content: `needle ${n} ${'x'.repeat(400)}` }, { ids: [`m${n}`] })
}

const KINDS = {
  feed: /^feed\/\d{8}\..*\.jsonl$/,
  'an id file': /^sessions\/.*\.ids$/,
  watermarks: /^watermarks\//,
} as const
type Kind = keyof typeof KINDS

/** Spoils one file of a kind. Returns what was done. */
function spoil(directory: string, kind: Kind, random: Random): string {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  const name = random.pick(names.filter((one) => KINDS[kind].test(one)))
  const path = join(directory, name)
  const bytes = readFileSync(path)
  if (random.chance(0.7)) {
    // The end is read most often.
    const near = random.chance(0.5) ? Math.min(200, bytes.length) : bytes.length
    const bit = (bytes.length - near) * 8 + random.int(near * 8)
    bytes[bit >>> 3] = (bytes[bit >>> 3] as number) ^ (1 << (bit & 7))
    writeFileSync(path, bytes)
    return `bit ${bit & 7} of byte ${bit >>> 3} of ${bytes.length} of ${name}`
  }
  const length = random.pick([0, random.int(bytes.length), bytes.length])
  const garbage = Buffer.from(Array.from({ length: random.pick([0, length]) }, () => random.int(256)))
  writeFileSync(path, garbage.length > 0 ? garbage : bytes.subarray(0, length))
  return garbage.length > 0 ? `${length} bytes of garbage in ${name}` : `${name} cut to ${length} of ${bytes.length} bytes`
}

/** Everything that a caller could notice. `more`: messages of `talk` beyond those of the original; `sessions`: others than those. */
async function check(store: Store, what: string, more: number, sessions: readonly string[] = []): Promise<void> {
  const { sessions: listed } = await store.list()
  expect(listed.map(({ id, status, messageCount }) => [id, status, messageCount]).sort(), what).toEqual(
    [['other', 'ok', MESSAGES], ...sessions.map((id) => [id, 'ok', 1]), ['talk', 'ok', MESSAGES + more]].sort(),
  )
  expect((await store.search('needle', { limit: 100 })).hits.length, what).toBe(2 * MESSAGES + more + sessions.length)
  expect((await appendNumber(store, 'talk', 1)).duplicate, what).toBe(true)
  expect((await appendNumber(store, 'other', MESSAGES)).duplicate, what).toBe(true)
  const other = store.session('talk').append({ role: 'user', content: 'another body' }, { ids: ['m2'] })
  await expect(other, what).rejects.toMatchObject({ code: 'CONFLICT', details: { reason: 'other body' } })
  expect((await appendNumber(store, 'talk', MESSAGES + more + 1)).duplicate, what).toBe(false)
  const { messages, damage } = await store.session('talk').messages({ limit: 100 })
  expect({ ids: messages.map(({ id }) => id), damage }, what).toEqual({
    ids: Array.from({ length: MESSAGES + more + 1 }, (_, n) => `m${n + 1}`),
    damage: [],
  })
}

/** An id file that nobody has read since is reported as what it is: a note. */
async function checkDoctor(store: Store, what: string): Promise<void> {
  const kinds = new Set<string>()
  for await (const { kind } of doctor(store)) kinds.add(kind)
  expect(
    [...kinds].filter((kind) => kind !== 'stale-index' && kind !== 'no-watermarks'),
    what,
  ).toEqual([])
}

test.each(Object.keys(KINDS) as Kind[])('%s that was spoiled while the store was closed is rebuilt or ignored', async (kind) => {
  const random = new Random(SEED * 1000 + kind.length)
  for (let n = 0; n < CASES; n++) {
    const directory = join(parent, `${kind} ${n}`)
    cpSync(original, directory, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
    const what = `case ${n}: ${spoil(directory, kind, random)}`
    const store = await openStore(directory, LIMITS)
    await check(store, what, 0)
    await store.close()
    await using again = await openStore(directory, LIMITS)
    expect((await again.list()).sessions, what).toHaveLength(2)
    await checkDoctor(again, what)
    rmSync(directory, { recursive: true })
  }
})

test.each(Object.keys(KINDS) as Kind[])('%s that is spoiled while two processes use the store is rebuilt or ignored', async (kind) => {
  const random = new Random(SEED * 2000 + kind.length)
  for (let round = 0; round * CASES_IN_USE < CASES / 3; round++)
    await useWhileSpoiled(join(parent, `${kind} in use ${round}`), kind, random)
})

async function useWhileSpoiled(directory: string, kind: Kind, random: Random): Promise<void> {
  cpSync(original, directory, { recursive: true, verbatimSymlinks: true })
  await using store = await openStore(directory, LIMITS)
  await using other = await openStore(directory, LIMITS)
  const made: string[] = []
  for (let n = 0; n < CASES_IN_USE; n++) {
    made.push(`s${n}`)
    await other.session(`s${n}`).append({ role: 'user', content: 'needle' })
    const what = `case ${n}: ${spoil(directory, kind, random)}`
    // Where announcements were cut off that no process had read, the next one of a process that wrote there shows it.
    if (kind === 'feed' && what.includes(' cut to ')) await other.session('other').describe({ title: `${n}` })
    await check(store, what, n, made)
    expect((await appendNumber(other, 'talk', 3)).duplicate, what).toBe(true)
  }
  await checkDoctor(store, kind)
  rmSync(directory, { recursive: true })
}
