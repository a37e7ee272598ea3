import { expect, test } from 'vitest'
import type { Watermark } from '../../record/watermark.ts'
import type { Segment } from './segment.ts'
import { type Contents, findVanished } from './vanished.ts'

const IN_THE_MIDDLE: Watermark = { start: 100, end: 200, idHash: 1 }
const AT_THE_END: Watermark = { start: 200, end: 300, idHash: 2 }

/** A journal of one segment that holds this many bytes of no line. */
function holding(length: number): Contents {
  const bytes = Buffer.alloc(length, 'x')
  const open = {
    file: { read: async (at: number, count: number) => bytes.subarray(at, at + count) },
    ownEnd: length,
    release: () => undefined,
  } as unknown as Segment
  return {
    segments: async () => [0],
    size: () => length,
    hold: async () => open,
    verdicts: async function* () {},
  }
}

test.each([
  ['the last watermark', [AT_THE_END]],
  ['an earlier one too, whose line it cut', [IN_THE_MIDDLE, AT_THE_END]],
])('what a cut took starts where the file ends, if %s shows it', async (_, marks) => {
  expect(await findVanished(marks, holding(150))).toEqual({ from: 150, to: 300 })
})

test('where something else is in the place of a line, the loss starts with the line', async () => {
  expect(await findVanished([IN_THE_MIDDLE], holding(500))).toEqual({ from: 100, to: 200 })
})
