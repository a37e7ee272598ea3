/** The small parts of the page: lists of hits, rows that keys move through, work on many sessions, numbers, times and pictures. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { hitsText, newestFirst, wrapped } from '../../web/session/find-hits.ts'
import { picturesOf } from '../../web/session/media.ts'
import { forEachSession, tagsIn } from '../../web/sessions/bulk.ts'
import { nextPlace } from '../../web/sessions/next-place.ts'
import { ago, bytes, counted, full, sessionPath, short } from '../../web/shell/format.ts'
import { Soon } from '../../web/shell/soon.ts'
import { Questions, settled } from './pending.ts'

describe('hits', () => {
  test('the newest comes first, and equal times keep their order', () => {
    const hits = [1, 3, 2].map((day) => ({ at: `2026-01-0${day}`, name: day })).concat({ at: '2026-01-03', name: 4 })
    expect(newestFirst(hits).map(({ name }) => name)).toEqual([3, 4, 2, 1])
  })

  test.each([
    [3, 3, 0],
    [-1, 3, 2],
    [-2, 3, 1],
    [1, 3, 1],
    [5, 0, 0],
  ])('place %i of %i is %i', (place, count, expected) => {
    expect(wrapped(place, count)).toBe(expected)
  })

  test.each([
    ['', 0, 0, ''],
    ['x', 0, 0, 'nothing'],
    ['x', 1, 7, '2 of 7'],
    ['x', 0, 200, '1 of 200+'],
  ])('the text for %j at %i of %i is %j', (query, place, count, text) => {
    expect(hitsText(query, place, count, 200)).toBe(text)
  })
})

test.each([
  ['the next row', 2, 2, 1, 3],
  ['the row before', 2, 2, -1, 1],
  ['the first row stays the first', 0, 0, -1, 0],
  ['the last row stays the last', 4, 4, 1, 4],
  ['no row yet', undefined, -1, 1, 0],
  ['a row that has left: the one after it is in its place', undefined, 2, 1, 2],
  ['a row that has left: the one before it', undefined, 2, -1, 1],
])('keys go to %s', (_, place, lastPlace, by, expected) => {
  expect(nextPlace(place, lastPlace, by, 5)).toBe(expected)
})

describe('work on many sessions', () => {
  test('four sessions are worked on at a time, each once', async () => {
    const questions = new Questions<string, void>()
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    const done = forEachSession(ids, questions.ask)
    expect(questions.count).toBe(4)
    await questions.at(1).answer()
    expect(questions.count).toBe(5)
    for (let i = 0; i < ids.length; i++) await questions.at(i).answer()
    await done
    expect(questions.all.map(({ asked }) => asked)).toEqual(ids)
  })

  test('an error reaches the caller', async () => {
    await expect(forEachSession(['a'], () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer')
  })

  test('a minus before a tag removes it', () => {
    expect(tagsIn(' red, -blue  green,')).toEqual({ added: ['red', 'green'], removed: ['blue'] })
    expect(tagsIn(' ')).toEqual({ added: [], removed: [] })
  })
})

describe('soon', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('many calls are one, after the first one’s time, and the next call is another', async () => {
    const run = vi.fn()
    const soon = new Soon(1000, run)
    soon.ask()
    vi.advanceTimersByTime(600)
    soon.ask()
    vi.advanceTimersByTime(400)
    expect(run).toHaveBeenCalledTimes(1)
    soon.ask()
    vi.advanceTimersByTime(1000)
    expect(run).toHaveBeenCalledTimes(2)
    await settled()
  })

  test('a cancelled call does not run, and a later one does', () => {
    const run = vi.fn()
    const soon = new Soon(1000, run)
    soon.ask()
    soon.cancel()
    vi.advanceTimersByTime(2000)
    expect(run).not.toHaveBeenCalled()
    soon.ask()
    vi.advanceTimersByTime(1000)
    expect(run).toHaveBeenCalledTimes(1)
  })
})

describe('numbers and times', () => {
  const NOW_MS = Date.parse('2026-06-15T12:00:00')

  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [1_500_000, '1.5 MB'],
    [2e12, '2.0 TB'],
    [5e15, '5000.0 TB'],
  ])('%i bytes are %s', (count, text) => {
    expect(bytes(count)).toBe(text)
  })

  test('large numbers are short in lists and full elsewhere', () => {
    expect([short(999), short(1234), full(1234)]).toEqual(['999', '1.2K', '1,234'])
    expect([counted(1, 'session'), counted(2, 'session'), counted(0, 'memory', 'memories')]).toEqual([
      '1 session',
      '2 sessions',
      '0 memories',
    ])
  })

  test.each([
    [10, 'just now'],
    [60, '1 min ago'],
    [50, '1 min ago'],
    [3599, '60 min ago'],
    [2 * 3600, '2 h ago'],
  ])('%i seconds ago is %s', (seconds, text) => {
    expect(ago(new Date(NOW_MS - seconds * 1000).toISOString(), NOW_MS)).toBe(text)
  })

  test('days of another year name the year', () => {
    expect(ago('', NOW_MS)).toBe('')
    expect(ago('2026-03-01T12:00:00', NOW_MS)).not.toContain('2026')
    expect(ago('2025-03-01T12:00:00', NOW_MS)).toContain('2025')
  })

  test('the path of a session takes any id', () => {
    expect(sessionPath('a/b c')).toBe('/sessions/a%2Fb%20c')
    expect(sessionPath('a', 'tree')).toBe('/sessions/a/tree')
  })
})

test.each([
  ['no picture in a text', { content: 'text' }, []],
  [
    'bytes of Anthropic',
    { content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } }] },
    ['data:image/png;base64,AA'],
  ],
  ['an address of Anthropic', { content: [{ type: 'image', source: { type: 'url', url: 'https://a/b' } }] }, ['https://a/b']],
  ['an address of OpenAI', { content: [{ type: 'image_url', image_url: { url: 'https://a/b' } }] }, ['https://a/b']],
  ['a part of the AI SDK', { parts: [{ type: 'image', image: 'https://a/b' }, null] }, ['https://a/b']],
  ['an address that is no picture', { content: [{ type: 'document', source: { type: 'url', url: 'https://a/b' } }] }, []],
])('pictures: %s', (_, message, expected) => {
  expect(picturesOf(message)).toEqual(expected)
})
