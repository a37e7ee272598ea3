import { expect, test } from 'vitest'
import { History } from './history.ts'

function history(...acknowledged: [number, string][]): History {
  const made = new History()
  for (const [client, id] of acknowledged) made.acknowledge(client, 's', id)
  return made
}

const check = (made: History, ...ids: string[]): string[] => made.check(new Map([['s', ids]]))

test('what happened once and in order is explained, also what nobody was told of', () => {
  const good = history([1, 'a'], [2, 'b'], [1, 'c'])
  good.see({ client: 1, session: 's', ids: ['b'] })
  good.see({ client: 1, session: 's', ids: ['b', 'a'] })
  expect(check(good, 'b', 'a', 'unanswered', 'c')).toEqual([])
})

test('what was lost, doubled or turned round is told', () => {
  expect(check(history([1, 'a'], [1, 'b']), 'a')[0]).toBe('s lost b, which was acknowledged')
  expect(check(history([1, 'a']), 'a', 'a')[0]).toContain('twice')
  expect(check(history([1, 'a'], [1, 'b']), 'b', 'a')[0]).toContain('another order')
})

test('a read of another order, or one that goes back, is told', () => {
  const turned = history()
  turned.see({ client: 1, session: 's', ids: ['b', 'a'] })
  expect(check(turned, 'a', 'b')[0]).toContain('another order')
  const back = history()
  back.see({ client: 1, session: 's', ids: ['a', 'b'] })
  back.see({ client: 1, session: 's', ids: ['a'] })
  expect(check(back, 'a', 'b')[0]).toContain('go back')
})
