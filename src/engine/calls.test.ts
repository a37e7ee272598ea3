import { expect, test } from 'vitest'
import { Calls } from './calls.ts'

/** Calls that end when they are told to. */
function pending(): { begun: number[]; call: (i: number) => () => Promise<number>; end: (i: number) => void } {
  const begun: number[] = []
  const ends = new Map<number, () => void>()
  const call = (i: number) => () => {
    begun.push(i)
    return new Promise<number>((resolve) => ends.set(i, () => resolve(i)))
  }
  return { begun, call, end: (i) => ends.get(i)?.() }
}

test('as many calls as may run begin at once, and the others in their order, each when one ends', async () => {
  const calls = new Calls(2)
  const { begun, call, end } = pending()
  const results = [0, 1, 2, 3].map((i) => calls.track(call(i)))
  expect(begun).toEqual([0, 1])
  end(1)
  await results[1]
  await Promise.resolve()
  expect(begun).toEqual([0, 1, 2])
  end(0)
  end(2)
  await Promise.all([results[0], results[2]])
  await Promise.resolve()
  expect(begun).toEqual([0, 1, 2, 3])
  end(3)
  expect(await Promise.all(results)).toEqual([0, 1, 2, 3])
})

test('a call that fails makes room too, and its error is that of the caller', async () => {
  const calls = new Calls(1)
  const failed = calls.track(() => Promise.reject(new Error('no')))
  const next = calls.track(() => Promise.resolve('yes'))
  await expect(failed).rejects.toThrow('no')
  expect(await next).toBe('yes')
})

test('close waits for calls that wait, and refuses later ones', async () => {
  const calls = new Calls(1)
  const { begun, call, end } = pending()
  const results = [0, 1].map((i) => calls.track(call(i)))
  let isClosed = false
  const closing = calls.close().then(() => {
    isClosed = true
  })
  await expect(calls.track(call(2))).rejects.toMatchObject({ code: 'CLOSED' })
  end(0)
  await results[0]
  await Promise.resolve()
  expect(begun).toEqual([0, 1])
  expect(isClosed).toBe(false)
  end(1)
  await closing
  expect(await Promise.all(results)).toEqual([0, 1])
})
