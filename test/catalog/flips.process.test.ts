/**
 * One bit of the catalog flips, and a process of its own asks it everything. No flip ends a process, no answer has an error or anything wrong, and within a
 * minute the catalog is whole again. If the file shows that it was changed since it was closed, also nothing is missing in the first answers.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { currentFile } from '../../src/catalog/sqlite/file.ts'
import { Worker } from '../../src/commit/worker.ts'
import { openStore } from '../../src/store/open-store.ts'
import { runs, SEED } from '../long.ts'
import type { Asked } from '../processes/asker/main.ts'
import { Child } from '../processes/children.ts'
import { Random } from '../simulation/random.ts'
import type { CatalogAnswers } from './catalog-answers.ts'

const FLIPS = runs(40, 1000)
/** As many as there are cores on a small machine. */
const TOGETHER = 2

let parent = ''
let expected: CatalogAnswers

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-flips-'))
  await fill(join(parent, 'store'))
  const { first } = await ask(join(parent, 'store'))
  expected = first
  // A catalog that is rebuilt answers the same.
  expect((await ask(join(parent, 'store'), expected)).isRight).toBe(true)
})

afterAll(() => rmSync(parent, { recursive: true }))

async function fill(directory: string): Promise<void> {
  const store = await openStore(directory, { brief: true })
  for (let i = 0; i < 30; i++) {
    const session = await store.create({
      id: `session ${i}`,
      title: `A title ${i}, of some length`,
      tags: i % 3 === 0 ? ['red'] : ['blue', 'green'],
      owner: i % 2 === 0 ? 'ann' : 'bob',
      metadata: { n: i % 7 },
    })
    const words = ['apple', 'banana', 'cherry'].filter((_, n) => i % (n + 2) === 0)
    for (let j = 0; j < 6; j++) await session.append({ id: `m${i}-${j}`, role: 'user', content: `${words.join(' ')} number ${j} only${i}` })
    if (i % 5 === 0) await session.append({ role: 'user', content: 'I prefer trains. I live in Berlin.' })
    if (i % 5 === 0) await session.commit()
    if (i % 10 === 9) await session.delete()
  }
  await new Worker(store).drain()
  await store.session('session 5').commit()
  await store.session('session 0').fork({ id: 'fork' })
  await store.close()
}

async function ask(directory: string, right?: CatalogAnswers): Promise<Asked> {
  const child = new Child('asker', { directory, ...(right === undefined ? {} : { expected: right }) })
  const lines: string[] = []
  child.onLine((line) => lines.push(line))
  const { code, signal, complaint } = await child.ended
  expect({ code, signal, complaint }).toEqual({ code: 0, signal: null, complaint: '' })
  return JSON.parse(lines[0] ?? '') as Asked
}

interface Flipped extends Asked {
  readonly flip: string
}

async function flipped(random: Random, directory: string, isSilent: boolean): Promise<Flipped> {
  cpSync(join(parent, 'store'), directory, { recursive: true, verbatimSymlinks: true })
  const path = (await currentFile(directory)) as string
  const original = statSync((await currentFile(join(parent, 'store'))) as string)
  const bytes = readFileSync(path)
  const [at, bit] = [random.int(bytes.length), random.int(8)]
  bytes[at] = (bytes[at] as number) ^ (1 << bit)
  writeFileSync(path, bytes)
  // Bits that rot on a disk leave the time of the file as it was.
  if (isSilent) utimesSync(path, original.atimeMs / 1000, original.mtimeMs / 1000)
  const flip = `bit ${bit} of byte ${at}`
  try {
    return { ...(await ask(directory, expected)), flip }
  } catch (error) {
    throw new Error(`${flip}: ${(error as Error).message}`, { cause: error })
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** The questions whose first answers lack something. */
function lackingIn(first: CatalogAnswers): string[] {
  return Object.keys(expected).filter((question) => JSON.stringify(first[question]) !== JSON.stringify(expected[question]))
}

/** Rows that are there and are not what they should be. What is missing may be missing for a moment. */
function wrongIn(first: CatalogAnswers): string[] {
  return Object.entries(first).flatMap(([question, rows]) => {
    if (question === 'stats' || question.endsWith(' in order')) return []
    return Object.entries(rows)
      .filter(([name, row]) => name !== 'lag' && JSON.stringify(row) !== JSON.stringify(expected[question]?.[name]))
      .map(([name, row]) => `${question}: ${name}: ${JSON.stringify(row)}`)
  })
}

test.each([
  ['and the file shows it', false],
  ['and the file looks as it was', true],
])(`${FLIPS / 2} flips, each in its own process, %s`, { timeout: 1_800_000 }, async (_, isSilent) => {
  const random = new Random(SEED + (isSilent ? 1 : 0))
  const problems: string[] = []
  const missing: string[] = []
  const one = async (place: string): Promise<void> => {
    for (let n = 0; n < FLIPS / 2 / TOGETHER; n++) {
      const { first, isRight, flip } = await flipped(random, join(parent, place), isSilent)
      const lacking = lackingIn(first)
      if (lacking.length > 0)
        missing.push(`${flip}: ${lacking.map((question) => `${question} ${JSON.stringify(first[question])}`).join('; ')}`)
      problems.push(...wrongIn(first))
      if (!isRight) problems.push('The catalog was not rebuilt.')
    }
  }
  await Promise.all(Array.from({ length: TOGETHER }, (_, n) => one(`copy ${n}`)))
  process.stdout.write(`flips: ${JSON.stringify({ isSilent, flips: FLIPS / 2, missing: missing.length })}\n`)
  expect(problems).toEqual([])
  if (!isSilent) expect(missing).toEqual([])
})
