/**
 * Every file of a journal cut at every length, on bytes. Whole lines in front of the cut keep their verdict, nothing is forged, what is
 * missing in front of another segment is reported and nothing else is, and the journal goes on.
 */
import { describe, expect, test } from 'vitest'
import { BytesJournal } from './bytes-journal.ts'
import { judge, Original } from './original.ts'
import { makeCarriedSample, makeDeletedSample, makeFarCarriedSample, makeLongSample, makeReplica, makeRescuedSample } from './sample.ts'
import { changed, covers, forged, misreportedCut, readAndWrite } from './survey.ts'

/** test/slow/cuts.store.test.ts goes on from every one of them, on a disk. */
const STEP = 5

describe.each([
  ['a journal of three segments', makeLongSample],
  ['the journal of a deleted session', makeDeletedSample],
  ['a journal whose sync failed', makeCarriedSample],
  ['a journal with lines that are carried over a segment', makeFarCarriedSample],
  ['a journal whose sync failed before a power cut', makeRescuedSample],
])('%s, cut at any length,', (_, make) => {
  test('keeps every whole line with its verdict, and reports what is missing in front of another segment', async () => {
    const original = new Original(await make())
    const findings: string[] = []
    for (const { segment, length } of original.everyLength()) {
      const judged = judge(original.cut(segment, length))
      const all = [
        ...changed(original.left(original.cutOff(segment, length)), judged),
        ...forged(original, judged),
        ...misreportedCut(original, segment, length, judged),
      ]
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

test('a replica that has to read a segment that was cut short reports it as well', async () => {
  const { files, lines } = new Original(await makeCarriedSample())
  const [, second = 0] = files.keys()
  const checkpoint = lines.find(({ segment, verdict }) => segment === second && verdict.kind === 'checkpoint')?.at ?? 0
  const cut = new Original(new Original(files).flipped(second, checkpoint + 40, 0)).cut(0, 300)
  const replica = makeReplica(new BytesJournal(cut), 'r')
  await replica.read()
  const half = lines.findLast(({ segment, at }) => segment === 0 && at <= 300)?.at ?? 0
  expect(replica.damage).toMatchObject([
    { segment: 0, at: half, length: second - half, as: 'missing' },
    { segment: second, at: checkpoint, length: expect.any(Number), as: 'rotten' },
  ])
})

test('a whole segment that is gone is reported by its neighbours', async () => {
  const [first = 0, second = 0, third = 0] = [...(await makeLongSample()).keys()]
  const files = new Map(await makeLongSample())
  files.delete(second)
  expect(judge(files).filter(({ verdict }) => verdict.kind === 'damage' && verdict.as === 'missing')).toEqual([
    { segment: first, at: second, bytes: Buffer.of(), verdict: { kind: 'damage', at: second, length: third - second, as: 'missing' } },
  ])
})
