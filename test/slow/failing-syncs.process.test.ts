/**
 * Several writers on one journal, and the disk of each fails now and then: a sync of a file, a sync of a directory, a read. Whoever meets
 * a failed sync gives the segment up and carries its lines into the next one, while the others go on, and a reader follows.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SEED } from '../long.ts'
import { requirePlatform } from '../platform.ts'
import { Child } from '../processes/children.ts'
import { inspect } from '../processes/inspection.ts'
import { attemptsOf, readLog } from '../processes/log.ts'
import type { ReaderOptions } from '../processes/reader/main.ts'
import { journalBytes } from '../processes/segments.ts'
import type { WriterOptions } from '../processes/writer/main.ts'
import { Random } from '../simulation/random.ts'

const strace = requirePlatform('strace')
const AT_LEAST_MS = 8_000
const AT_MOST_MS = 40_000
const ENOUGH_BYTES = 4_000_000

/** Only the store makes such calls, so strace need not tell one file from another. */
const FAILING = ['fdatasync', 'fdatasync', 'fsync', 'pread64']

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-syncs-'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

test.skipIf(!strace.available)('writers whose disks fail now and then break no promise, and a reader sees one order', async () => {
  const store = join(directory, 'store')
  const random = new Random(SEED)
  const logOf = (name: string): string => join(directory, `${name}.log`)
  const sizes = { segmentBytes: 60_000, smallestBytes: 300, largestBytes: 100_000 }
  const writers = FAILING.map((syscall, i) => {
    const options: WriterOptions = { ...sizes, directory: store, log: logOf(`w${i}`), name: `w${i}`, seed: random.word(), lanes: 2 }
    const inject = `inject=${syscall}:error=EIO:when=${12 + random.int(20)}+${7 + random.int(30)}`
    const under = ['strace', '-f', '-o', '/dev/null', '-e', `trace=${syscall}`, '-e', inject]
    return new Child('writer', options, { under, env: { UV_THREADPOOL_SIZE: '1' } })
  })
  const readerOptions: ReaderOptions = { directory: store, log: logOf('r'), name: 'r' }
  const reader = new Child('reader', readerOptions)
  await enoughIn(store)
  const ends = await Promise.all([...writers, reader].map((child) => child.finish()))

  const lines = [...FAILING.keys()].flatMap((i) => readLog(logOf(`w${i}`)))
  const read = readLog(logOf('r'))
  const attempts = [...attemptsOf(lines), ...attemptsOf(read)]
  const told = (what: string): number => attempts.filter((attempt) => attempt.told === what).length
  const { findings, first } = await inspect(store, attempts)
  const carried = first.counted.filter(({ carried }) => carried).length
  const counts = { acknowledged: told('done'), duplicates: told('duplicate'), unknown: told('unknown'), none: told('none') }
  process.stdout.write(`failing syncs: ${JSON.stringify({ seed: SEED, ...counts, segments: first.segments, carried })}\n`)

  expect(findings).toEqual([])
  expect(ends).toMatchObject(ends.map(() => ({ code: 0 })))
  expect(ends.filter(({ complaint }) => complaint.includes('garbage collection'))).toEqual([])
  const there = first.counted.map(({ at, record }) => `${at} ${record.id}`)
  const shown = read.flatMap((line) => ('shown' in line ? [`${line.shown.at} ${line.shown.id}`] : []))
  expect(shown).toEqual(there.slice(0, shown.length))
  expect(shown.length).toBeGreaterThan(0)
  expect(told('unknown')).toBeGreaterThan(0)
})

async function enoughIn(store: string): Promise<void> {
  const begun = performance.now()
  const passedMs = (): number => performance.now() - begun
  do await new Promise((resolve) => setTimeout(resolve, 200))
  while (passedMs() < AT_LEAST_MS || (passedMs() < AT_MOST_MS && journalBytes(store) < ENOUGH_BYTES))
}
