/** Every bit of a journal flipped, as in test/damage/flips.store.test.ts, and each of them read, written and read again through a replica. */
import { expect, test } from 'vitest'
import { BytesJournal } from '../damage/bytes-journal.ts'
import { Original } from '../damage/original.ts'
import { makeCarriedSample, makeDeletedSample, makeFarCarriedSample, makeLongSample, makeRescuedSample } from '../damage/sample.ts'
import { covers, readAndWrite } from '../damage/survey.ts'
import { start, step } from '../long.ts'

test.each([
  ['a journal of three segments', makeLongSample],
  ['the journal of a deleted session', makeDeletedSample],
  ['a journal whose sync failed', makeCarriedSample],
  ['a journal with lines that are carried over a segment', makeFarCarriedSample],
  ['a journal whose sync failed before a power cut', makeRescuedSample],
])('in %s, any flipped bit leaves a state that follows from what is left, and a journal that can be written', async (_, make) => {
  const original = new Original(await make())
  const findings: string[] = []
  const every = step(23)
  for (const { segment, at, bit } of original.everyBit(every, start(every))) {
    const journal = new BytesJournal(original.flipped(segment, at, bit))
    const result = await readAndWrite(
      original.left(original.hitBy(segment, at)),
      () => journal,
      async () => journal.files,
    )
    findings.push(...result.findings.map((finding) => `bit ${bit} of byte ${at}: ${finding}`))
    if (segment === original.last && !result.after.some((line) => covers(line, segment, at)))
      findings.push(`bit ${bit} of byte ${at} is not reported`)
  }
  expect(findings).toEqual([])
})
