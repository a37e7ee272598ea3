import { expect, test } from 'vitest'
import { filtersIn, listOptions, queryOf, searchOptions, withFilters } from '../../web/sessions/filter-options.ts'

const NOW_MS = Date.parse('2026-02-01T12:00:00.000Z')

test('an address names the filters, without the empty ones', () => {
  expect(filtersIn(new URLSearchParams('q=plan&tag=red&owner='))).toEqual({ q: 'plan', tag: 'red' })
})

test('a change of some filters keeps the others and leaves the address before alone', () => {
  const before = new URLSearchParams('tag=red&status=ok')
  expect(withFilters(before, { status: 'deleted', owner: 'ann' }).toString()).toBe('tag=red&status=deleted&owner=ann')
  expect(before.toString()).toBe('tag=red&status=ok')
})

test.each(['', undefined])('the value %j removes a filter', (value) => {
  expect(withFilters(new URLSearchParams('tag=red&status=ok'), { tag: value } as object).toString()).toBe('status=ok')
})

test('filters become options of the list', () => {
  const filters = { status: 'damaged', time: '1d', tag: 'red', model: 'm', owner: 'ann', parent: 'p', order: 'title', q: 'text' }
  expect(listOptions(filters, NOW_MS)).toEqual({
    status: 'damaged',
    from: new Date('2026-01-31T12:00:00.000Z'),
    tag: 'red',
    model: 'm',
    owner: 'ann',
    parent: 'p',
    order: 'title',
  })
})

test.each([{ status: 'fine' }, { time: '2y' }, { time: 'constructor' }, { order: 'toString' }])(
  '%j is no choice and is left out',
  (filters) => {
    expect(listOptions(filters, NOW_MS)).toEqual({})
  },
)

test('a search takes the filters that it knows', () => {
  expect(searchOptions({ status: 'ok', tag: 'red', owner: 'ann', time: '1h', model: 'm' }, NOW_MS)).toEqual({
    tag: 'red',
    owner: 'ann',
    from: new Date('2026-02-01T11:00:00.000Z'),
  })
  expect(searchOptions({ status: 'ok' }, NOW_MS)).toEqual({})
})

test.each([
  ['plan', 'plan*'],
  ['two words', 'two words*'],
  ['größe', 'größe*'],
  ['plan*', 'plan*'],
  ['"a phrase"', '"a phrase"'],
  ['"a phrase" more', '"a phrase" more'],
  ['why?', 'why?'],
])('the search for %s asks for %s', (text, query) => {
  expect(queryOf(text)).toBe(query)
})
