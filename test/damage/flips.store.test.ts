/**
 * One flipped bit, for every bit there is. It never stops a reader, never makes a record that nobody wrote, never costs more than the
 * line that it hit, never changes the verdict on another line, and is reported with its place.
 *
 * By design it is not reported in two places, and the test counts them:
 *
 *   the last newline of the journal        the line looks like a write under way; the next writer's lead-in makes it a torn one
 *   behind a seal                          what stands there is outside of the journal, whatever it is
 *
 * test/slow/flips.store.test.ts reads and writes each of these journals through a replica; here it is one in thirty-one.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { BytesJournal, type Files } from './bytes-journal.ts'
import { describeVerdict, Original } from './original.ts'
import { makeCarriedSample, makeDeletedSample, makeFarCarriedSample, makeLongSample, makeRescuedSample } from './sample.ts'
import { covers, readAndWrite, type Survey, surveyBits } from './survey.ts'

const STEP = 31

interface Sample {
  readonly name: string
  readonly make: () => Promise<Files>
  readonly unreported: (original: Original) => Survey['unreported']
}

const SAMPLES: readonly Sample[] = [
  {
    name: 'a journal of three segments',
    make: makeLongSample,
    unreported: ({ lines }) => ({
      'the last newline of the journal': 8,
      'behind a seal':
        8 * lines.reduce((sum, { verdict, bytes }) => sum + (describeVerdict(verdict) === 'outside' ? bytes.length + 1 : 0), 0),
    }),
  },
  {
    name: 'the journal of a deleted session',
    make: makeDeletedSample,
    unreported: () => ({ 'the last newline of the journal': 8, 'behind a seal': 0 }),
  },
  {
    name: 'a journal whose sync failed',
    make: makeCarriedSample,
    unreported: () => ({ 'the last newline of the journal': 8, 'behind a seal': 0 }),
  },
  {
    name: 'a journal with lines that are carried over a segment',
    make: makeFarCarriedSample,
    unreported: () => ({ 'the last newline of the journal': 8, 'behind a seal': 0 }),
  },
  {
    name: 'a journal whose sync failed before a power cut',
    make: makeRescuedSample,
    unreported: () => ({ 'the last newline of the journal': 8, 'behind a seal': 0 }),
  },
]

describe.each(SAMPLES)('in $name, any flipped bit', ({ make, unreported }) => {
  let original: Original
  let survey: Survey
  beforeAll(async () => {
    original = new Original(await make())
    survey = surveyBits(original)
  }, 120_000)

  test('leaves every line that it did not hit as it was, with the verdict that it had', () => expect(survey.changed).toEqual([]))

  test('makes no record that was not written, byte by byte, at its place', () => expect(survey.forged).toEqual([]))

  test('is reported with a place that covers it, and nothing else is, but where that is not possible by design', () => {
    expect(survey.misreported).toEqual([])
    expect(survey.unreported).toEqual(unreported(original))
  })

  test('leaves a state that follows from what is left, and a journal that can be written', async () => {
    const findings: string[] = []
    let count = 0
    for (const { segment, at, bit } of original.everyBit()) {
      if (count++ % STEP !== 0) continue
      const journal = new BytesJournal(original.flipped(segment, at, bit))
      const result = await readAndWrite(
        original.left(original.hitBy(segment, at)),
        () => journal,
        async () => journal.files,
      )
      findings.push(...result.findings.map((finding) => `bit ${bit} of byte ${at}: ${finding}`))
      // Once somebody has written, also the last newline is noticed.
      if (segment === original.last && !result.after.some((line) => covers(line, segment, at)))
        findings.push(`bit ${bit} of byte ${at} is not reported`)
    }
    expect(findings).toEqual([])
  })
})

test('the samples hold what the proof speaks of', async () => {
  const long = new Original(await makeLongSample())
  const kinds = new Map<string, number>()
  for (const { verdict } of long.lines) {
    const kind = verdict.kind === 'nothing' ? verdict.why : verdict.kind
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  }
  // The second copies are those of two records and of a checkpoint.
  expect(Object.fromEntries(kinds)).toMatchObject({ counted: 11, repeated: 2, checkpoint: 3, damage: 1, misplaced: 1, outside: 2 })
  expect(long.files.size).toBe(3)
  const deleted = new Original(await makeDeletedSample())
  const verdicts = deleted.lines.map(({ verdict }) => describeVerdict(verdict)).filter((verdict) => verdict !== 'blank')
  expect(verdicts).toEqual(['counted d00', 'repeated', 'counted d01', 'counted d02', 'repeated', 'counted late'])
  const carried = new Original(await makeCarriedSample())
  const [, second] = carried.files.keys()
  expect(carried.lines.filter(({ segment, verdict }) => segment === second && describeVerdict(verdict) === 'repeated')).toHaveLength(3)
  expect(long.bits + deleted.bits + carried.bits).toBeGreaterThan(30_000)
})
