import { expect, test } from 'vitest'
import { HeldBytes } from './held-bytes.ts'

test('what one key holds is bounded, and what all hold; what is refused holds nothing', () => {
  const held = new HeldBytes({ total: 250, ofKey: 100 })
  const [a, again] = [held.of('a'), held.of('a')]
  a.add(60)
  expect(() => again.add(41)).toThrow('The requests of this key hold')
  again.add(40)
  const [b, c] = [held.of('b'), held.of('c')]
  b.add(100)
  expect(() => c.add(51)).toThrow('All requests together hold')
  c.add(50)
  expect(held.total).toBe(250)
  b.end()
  b.end()
  expect(held.total).toBe(150)
  again.end()
  a.add(40)
  for (const one of [a, c]) one.end()
  expect(held.total).toBe(0)
})
