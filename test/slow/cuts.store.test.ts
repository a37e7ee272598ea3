/** Every file of a journal cut at every length, through the real files engine in a real directory. */
import { expect, test } from 'vitest'
import { DamagedStore } from '../damage/on-disk.ts'
import { Original } from '../damage/original.ts'
import { makeCarriedSample, makeDeletedSample, makeFarCarriedSample, makeLongSample, makeRescuedSample } from '../damage/sample.ts'
import { start, step } from '../long.ts'

test.each([
  ['a journal of three segments', makeLongSample],
  ['the journal of a deleted session', makeDeletedSample],
  ['a journal whose sync failed', makeCarriedSample],
  ['a journal with lines that are carried over a segment', makeFarCarriedSample],
  ['a journal whose sync failed before a power cut', makeRescuedSample],
])('%s reads, and goes on, with any file cut at any length', async (_, make) => {
  const store = await DamagedStore.open()
  const every = step(23)
  try {
    expect(await store.cuts(new Original(await make()), every, start(every))).toEqual([])
  } finally {
    await store.dispose()
  }
})
