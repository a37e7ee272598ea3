/**
 * Eight processes write to one journal as fast as they can and are killed, stopped and continued at random; two readers follow. No
 * process knows of another but through the files. What they were told is then held against what a new process finds.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SEED } from '../long.ts'
import { Crowd } from '../processes/crowd.ts'
import { type Inspection, inspect } from '../processes/inspection.ts'
import { attemptsOf, type LoggedAttempt, type LogLine, readLog } from '../processes/log.ts'
import { Random } from '../simulation/random.ts'

const WRITERS = 8
const READERS = 2

describe('eight writers of records from 300 bytes to 1 MB, and two readers, killed and stopped at random', () => {
  let directory: string
  let crowd: Crowd
  let logs: LogLine[][]
  let attempts: LoggedAttempt[]
  let inspection: Inspection

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-killed-'))
    crowd = new Crowd({
      directory,
      writers: WRITERS,
      readers: READERS,
      segmentBytes: 512 * 1024,
      smallestBytes: 300,
      largestBytes: 1024 * 1024,
      random: new Random(SEED),
    })
    await crowd.run({ atLeastMs: 20_000, atMostMs: 60_000, kills: 40, journalBytes: 40_000_000 })
    logs = crowd.logs.map(readLog)
    attempts = logs.flatMap(attemptsOf)
    inspection = await inspect(crowd.store, attempts)
    process.stdout.write(`killed writers: ${JSON.stringify({ seed: SEED, ...counts() })}\n`)
  }, 120_000)

  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  function told(what: string): number {
    return attempts.filter((attempt) => attempt.told === what).length
  }

  function counts(): Record<string, number> {
    const { first } = inspection
    const acknowledged = new Set(attempts.flatMap(({ told, name }) => (told === 'done' ? [name] : [])))
    const standing = first.counted.filter(({ record }) => record.attempt !== undefined)
    return {
      kills: crowd.kills,
      stops: crowd.stops,
      acknowledged: told('done'),
      duplicates: told('duplicate'),
      refused: told('refused'),
      failed: told('none'),
      unknown: told('unknown'),
      reads: told('read'),
      unacknowledged: standing.filter(({ record }) => !acknowledged.has(String(record.attempt))).length,
      segments: first.segments,
      torn: first.torn,
      misplaced: first.misplaced,
      megabytes: Math.round((first.counted.at(-1)?.end ?? 0) / 1e6),
    }
  }

  test('no promise is broken: acknowledged records stand once at their place, refused ones nowhere, checkpoints equal the fold', () => {
    expect(inspection.findings).toEqual([])
    expect(inspection.second.rotten).toEqual([])
    expect(told('done')).toBeGreaterThan(100)
    expect(inspection.first.checkpoints.length).toBeGreaterThan(20)
  })

  test('no process ends but by being killed or asked to', () => {
    expect(crowd.crashes).toEqual([])
    expect(logs.flat().filter((line) => 'note' in line)).toEqual([])
    expect(crowd.kills).toBeGreaterThan(20)
  })

  test('what readers have shown is the beginning of the journal, with nothing left out, in the same order for all', () => {
    const there = inspection.first.counted.map(({ at, record }) => `${at} ${record.id}`)
    const shown = logs.map((lines) => lines.flatMap((line) => ('shown' in line ? [`${line.shown.at} ${line.shown.id}`] : [])))
    const readers = shown.filter((lines) => lines.length > 0)
    expect(readers.length).toBe(READERS)
    for (const lines of readers) {
      const different = lines.findIndex((line, i) => line !== there[i])
      expect(different === -1 ? 'the same' : `${lines[different]} instead of ${there[different]}`).toBe('the same')
    }
  })

  test('a writer that takes over from a killed one repeats its wishes, and each is fulfilled once', () => {
    const wanted = new Set(logs.flatMap((lines) => lines.flatMap((line) => ('wanted' in line ? [line.wanted.wish] : []))))
    const fulfilled = new Set(attempts.flatMap(({ told, wish }) => (told === 'none' || told === 'unknown' ? [] : [wish])))
    const open = [...wanted].filter((wish) => !fulfilled.has(wish))
    // Those that were under way when the test ended.
    expect(open.length).toBeLessThanOrEqual(WRITERS * 3)
    expect(counts().unacknowledged).toBeGreaterThan(0)
  })
})
