/**
 * Every file of a journal cut at every length, on bytes. Whole lines in front of the cut keep their verdict, nothing is forged, nothing
 * is reported that is not there, and the journal goes on.
 */
import { describe, expect, test } from 'vitest'
import { BytesJournal } from './bytes-journal.ts'
import { judge, Original } from './original.ts'
import { makeCarriedSample, makeDeletedSample, makeLongSample, makeRescuedSample } from './sample.ts'
import { changed, covers, forged, readAndWrite } from './survey.ts'

/** test/slow/cuts.test.ts goes on from every one of them, on a disk. */
const STEP = 5

describe.each([
  ['a journal of three segments', makeLongSample],
  ['the journal of a deleted session', makeDeletedSample],
  ['a journal whose sync failed', makeCarriedSample],
  ['a journal whose sync failed before a power cut', makeRescuedSample],
])('%s, cut at any length,', (_, make) => {
  test('keeps every whole line, and its verdict', async () => {
    const original = new Original(await make())
    const findings: string[] = []
    for (const { segment, length } of original.everyLength()) {
      const judged = judge(original.cut(segment, length))
      const all = [...changed(original.left(original.cutOff(segment, length)), judged), ...forged(original, judged)]
      findings.push(...all.map((finding) => `segment ${segment} cut at ${length}: ${finding}`))
    }
    expect(findings).toEqual([])
  })

  test('goes on from what is left, and then reports the half line', async () => {
    const original = new Original(await make())
    const findings: string[] = []
    let count = 0
    for (const { segment, length } of original.everyLength()) {
      if (count++ % STEP !== 0) continue
      const journal = new BytesJournal(original.cut(segment, length))
      const left = original.left(original.cutOff(segment, length))
      const result = await readAndWrite(
        left,
        () => journal,
        async () => journal.files,
      )
      findings.push(...result.findings.map((finding) => `segment ${segment} cut at ${length}: ${finding}`))
      const isHalf = length > 0 && original.files.get(segment)?.[length - 1] !== 0x0a
      const reported = result.after.some((line) => covers(line, segment, segment + length - 1))
      if (segment === original.last && isHalf !== reported) findings.push(`segment ${segment} cut at ${length}: reported: ${reported}`)
    }
    expect(findings).toEqual([])
  })
})
