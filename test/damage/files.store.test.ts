/**
 * Damaged journals through the real files engine, in a real directory: one flipped bit in ninety-seven, and one cut in nineteen;
 * test/slow/cuts.store.test.ts makes all of them.
 *
 * A cut of the last file is not reported by itself: what is missing there looks like what was never written. The half line that it left
 * is reported once somebody has written behind it. What is missing in front of another segment is reported at once.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DamagedStore } from './on-disk.ts'
import { Original } from './original.ts'
import { makeCarriedSample, makeDeletedSample, makeFarCarriedSample, makeLongSample, makeRescuedSample } from './sample.ts'

let store: DamagedStore
beforeAll(async () => {
  store = await DamagedStore.open()
})
afterAll(() => store.dispose())

describe.each([
  ['a journal of three segments', makeLongSample],
  ['the journal of a deleted session', makeDeletedSample],
  ['a journal whose sync failed', makeCarriedSample],
  ['a journal with lines that are carried over a segment', makeFarCarriedSample],
  ['a journal whose sync failed before a power cut', makeRescuedSample],
])('%s on a disk reads, and goes on', (_, make) => {
  test('with a bit flipped anywhere', async () => {
    expect(await store.flips(new Original(await make()), 97)).toEqual([])
  })

  test('with a file cut at any length', async () => {
    expect(await store.cuts(new Original(await make()), 19)).toEqual([])
  })
})
