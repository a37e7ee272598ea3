import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { DeadlinePassed, withDeadline } from './deadline.ts'

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })

test('work that takes too long is aborted, however often memory is collected meanwhile', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const working = withDeadline(100, new AbortController().signal, never)
  const collecting = setInterval(collect, 5)
  await expect(working).rejects.toThrow(DeadlinePassed)
  clearInterval(collecting)
})

test('it is aborted with the signal around it, also with one that is aborted already', async () => {
  const outer = new AbortController()
  const working = withDeadline(60_000, outer.signal, never)
  outer.abort(new Error('enough'))
  await expect(working).rejects.toThrow('enough')
  await expect(withDeadline(60_000, outer.signal, never)).rejects.toThrow('enough')
})

test('work that ends in time is not disturbed, and its failure is its own', async () => {
  const { signal } = new AbortController()
  expect(await withDeadline(1000, signal, async () => 7)).toBe(7)
  await expect(
    withDeadline(1000, signal, async () => {
      throw new Error('its own')
    }),
  ).rejects.toThrow('its own')
})
