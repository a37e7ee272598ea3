import { expect, test } from 'vitest'
import type { Json } from '../record/record.ts'
import { Suspects } from './suspects.ts'

/** What is said of each of some messages, one a second. */
function looks(...said: readonly (readonly [role: string, content: Json, second?: number])[]): (string | undefined)[] {
  const suspects = new Suspects()
  return said.map(([role, content, second], index) => {
    const at = new Date(1_772_359_200_000 + 1000 * (second ?? index)).toISOString()
    return suspects.look({ kind: 'message', session: 's', id: `m${index}`, message: { role, content }, at })
  })
}

test('what says the same seconds later names the newest that did', () => {
  expect(looks(['user', 'pay'], ['user', 'pay'], ['user', 'pay'])).toEqual([undefined, 'm0', 'm1'])
})

test('another role, another content, or a minute later is no suspect', () => {
  expect(looks(['user', 'pay'], ['assistant', 'pay'], ['user', 'pay it'], ['user', 'pay', 60])).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

test('texts made from a pattern that differ in one place are told apart', () => {
  const text = (n: number): string => `${'Order number '.repeat(40)}${n}${' has arrived.'.repeat(40)}`
  expect(
    looks(...Array.from({ length: 40 }, (_, n) => ['user', text(n % 39), Math.floor(n / 20)] as const)).filter((id) => id !== undefined),
  ).toEqual([])
})

test('a repetition behind others that look alike is found', () => {
  const text = (n: number): string => `${'Order number '.repeat(40)}${n}${' has arrived.'.repeat(40)}`
  expect(looks(['user', text(1)], ['user', text(2)], ['user', text(3)], ['user', text(1)]).at(-1)).toBe('m0')
})

test('parts are compared by what they hold', () => {
  const parts = (text: string): Json => [
    { type: 'text', text },
    { type: 'image', data: [1, null, true] },
  ]
  expect(looks(['user', parts('a')], ['user', parts('b')], ['user', parts('a')], ['user', [{ type: 'text', text: 'a' }]])).toEqual([
    undefined,
    undefined,
    'm0',
    undefined,
  ])
})
