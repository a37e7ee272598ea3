/** Sources of every format, cut at every byte, and with every byte overwritten. */
import { describe, expect, test } from 'vitest'
import { start, step } from '../long.ts'
import { wrongWhenCut, wrongWhenOverwritten } from '../transfer/damage.ts'
import { FIXTURES } from '../transfer/fixtures.ts'

const EVERY = step(5)

describe.each(FIXTURES)('$format, $name', (fixture) => {
  test('cut off anywhere, it gives what was whole before the cut, and nothing that was not there', async () => {
    expect(await wrongWhenCut(fixture, EVERY, start(EVERY))).toEqual([])
  })

  test('with any byte overwritten, it costs no more than the lines that the byte touches', async () => {
    expect(await wrongWhenOverwritten(fixture, EVERY, start(EVERY))).toEqual([])
  })
})
