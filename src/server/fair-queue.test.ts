import { expect, test } from 'vitest'
import { FairQueue, type Place } from './fair-queue.ts'
import { SERVER_LIMITS } from './limits.ts'

function queueOn(): { readonly queue: FairQueue; readonly clock: { ms: number } } {
  const clock = { ms: 0 }
  return { queue: new FairQueue({ monotonicMs: () => clock.ms }), clock }
}

/** Enters requests of a key. `begun` grows as they may run. */
function enter(queue: FairQueue, key: string, weights: readonly number[]): { readonly places: Place[]; readonly begun: number[] } {
  const begun: number[] = []
  const places = weights.map((weight, i) => {
    const place = queue.placeOf(key, weight)
    place.enter().then(() => begun.push(i))
    return place
  })
  return { places, begun }
}

const ones = (count: number): number[] => Array.from({ length: count }, () => 1)
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const HALF = SERVER_LIMITS.runningOfKeys / 2

test('a key that is alone runs all its requests at once', async () => {
  const { begun } = enter(queueOn().queue, 'a', ones(500))
  await settled()
  expect(begun).toHaveLength(500)
})

test('two keys share what runs at once, and requests of a key begin in order as others of it end', async () => {
  const { queue } = queueOn()
  const other = enter(queue, 'b', [1])
  const { places, begun } = enter(queue, 'a', ones(HALF + 3))
  await settled()
  expect(begun).toEqual(Array.from({ length: HALF }, (_, i) => i))
  expect(other.begun).toEqual([0])
  places[5]?.leave()
  places[5]?.leave()
  await settled()
  expect(begun.slice(HALF)).toEqual([HALF])
  for (const place of places) place.leave()
  await settled()
  expect(begun).toHaveLength(HALF + 3)
})

test('with many keys each still runs a few requests', async () => {
  const { queue } = queueOn()
  for (let i = 0; i < 100; i++) enter(queue, `other ${i}`, [1])
  const { begun } = enter(queue, 'a', ones(20))
  await settled()
  expect(begun).toHaveLength(SERVER_LIMITS.runningOfKey)
})

test('a heavy request takes the room of several, runs alone if it is heavier than the share, and is not overtaken', async () => {
  const { queue } = queueOn()
  enter(queue, 'b', [1])
  const { places, begun } = enter(queue, 'a', [HALF * 10, 1, HALF, 1])
  await settled()
  expect(begun).toEqual([0])
  places[0]?.leave()
  await settled()
  expect(begun).toEqual([0, 1])
  places[1]?.leave()
  await settled()
  expect(begun).toEqual([0, 1, 2])
  places[2]?.leave()
  await settled()
  expect(begun).toEqual([0, 1, 2, 3])
})

test('a key whose answers are large runs fewer requests at once, until they are small again', async () => {
  const { queue } = queueOn()
  enter(queue, 'b', [1])
  const end = async (bytes: number): Promise<void> => {
    const { places } = enter(queue, 'a', [1])
    await settled()
    places[0]?.leave(bytes)
  }
  for (let i = 0; i < 20; i++) await end(4 * 1024 * 1024)
  const large = enter(queue, 'a', ones(HALF))
  await settled()
  expect(large.begun).toEqual([0])
  for (const place of large.places) {
    place.leave(1000)
    await settled()
  }
  const small = enter(queue, 'a', ones(HALF))
  await settled()
  expect(small.begun.length).toBeGreaterThan(HALF / 2)
})

test('ten seconds after the last request of the others, a key has everything again', async () => {
  const { queue, clock } = queueOn()
  const other = enter(queue, 'b', [1])
  await settled()
  other.places[0]?.leave()
  clock.ms = 5000
  const { places, begun } = enter(queue, 'a', ones(HALF + 5))
  await settled()
  expect(begun).toHaveLength(HALF)
  clock.ms = 10_001
  const later = enter(queue, 'a', ones(5))
  places[0]?.leave()
  await settled()
  expect([...begun, ...later.begun]).toHaveLength(HALF + 10)
})

test('a key cannot take all places of the server', async () => {
  const { queue } = queueOn()
  const { places } = enter(queue, 'a', ones(SERVER_LIMITS.requestsOfKey))
  expect(() => queue.placeOf('a')).toThrow('in progress')
  await settled()
  expect(() => queue.placeOf('b')).not.toThrow()
  places[0]?.leave()
  expect(() => queue.placeOf('a')).not.toThrow()
})
