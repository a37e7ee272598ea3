import { expect, test } from 'vitest'
import { excessOf } from './growth.ts'
import { FAMILIES } from './texts.ts'

/** The texts here are short, so that the tests take no longer than they must. */
const FLOOR_MS = 3

/** Adds up the characters of a text, and again from each of its positions if it is to be quadratic. */
function sum(text: string, quadratic: boolean): number {
  let total = 0
  for (let from = 0; from < (quadratic ? text.length : 1); from++) {
    for (let at = from; at < text.length; at++) total += text.charCodeAt(at)
  }
  return total
}

const prepare = (quadratic: boolean) => (length: number) => {
  const text = 'x'.repeat(length)
  return () => sum(text, quadratic)
}

test('a quadratic function is found at the first length where it matters', async () => {
  const excess = await excessOf(prepare(true), [20, 600, 20_000], FLOOR_MS)
  expect(excess).toMatchObject({ shortLength: 600, longLength: 6000 })
})

test('a linear function passes, also where it takes long', async () => {
  expect(await excessOf(prepare(false), [20, 600, 200_000], FLOOR_MS)).toBeUndefined()
})

test('a pattern that starts again at every position is found', async () => {
  const pattern = /a*b/
  const action = (length: number) => () => pattern.test('a'.repeat(length))
  expect(await excessOf(action, [20, 600], FLOOR_MS)).toBeDefined()
})

test('an action that waits uses no processor time', async () => {
  const waiting = () => () => new Promise((resolve) => setTimeout(resolve, 100))
  expect(await excessOf(waiting, [20])).toBeUndefined()
})

test.each(FAMILIES)('the texts of the family $name have the length that is asked for', ({ text }) => {
  for (const length of [1, 50, 1500, 15_000]) expect(text(length)).toHaveLength(length)
})
