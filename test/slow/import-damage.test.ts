/** Sources of every format, cut at every byte, and with every byte overwritten. */
import { describe, expect, test } from 'vitest'
import { wrongWhenCut, wrongWhenOverwritten } from '../transfer/damage.ts'
import { FIXTURES } from '../transfer/fixtures.ts'

describe.each(FIXTURES)('$format, $name', (fixture) => {
  test('cut off anywhere, it gives what was whole before the cut, and nothing that was not there', async () => {
    expect(await wrongWhenCut(fixture, 1)).toEqual([])
  })

  test('with any byte overwritten, it costs no more than the lines that the byte touches', async () => {
    expect(await wrongWhenOverwritten(fixture, 1)).toEqual([])
  })
})
