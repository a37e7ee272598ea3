import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/engine/clock.ts'
import { Application } from './application.ts'

const MIDNIGHT = Date.parse('2026-11-16T00:00:00.000Z')
let now = 0
const clock: Clock = { ...systemClock, now: () => now }

/** A deed a second from some seconds before midnight on; every third is only counted, and written down a second later. */
async function withDeeds(count: number): Promise<Application> {
  const app = await Application.open({ clock })
  for (let i = 0; i < count; i++) {
    now = MIDNIGHT + (i - 4) * 1000
    const deed = { key: 'k', space: 'default', action: `deed ${i}`, session: null, status: 200, request: `r${i}` }
    if (i % 3 === 0) app.parts.audit.count(deed)
    else {
      await app.parts.audit.record(deed)
      await app.parts.audit.flush()
    }
  }
  await app.parts.audit.flush()
  now = MIDNIGHT + 60_000
  return app
}

async function pages(app: Application, query: string): Promise<string[][]> {
  const all: string[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { result, headers } = await app.get(`/audit?limit=3${query}${next}`)
    all.push(result.map(({ action }: { action: string }) => action))
    cursor = headers.get('x-next-cursor')
  }
  return all
}

test('the audit is read a page at a time from either end, each deed once, also over midnight', async () => {
  const app = await withDeeds(10)
  // Up to then, because reading is a deed too.
  const span = `&from=${new Date(MIDNIGHT - 5000).toISOString()}&to=${new Date(MIDNIGHT + 30_000).toISOString()}`
  const oldest = await pages(app, span)
  expect(oldest.map(({ length }) => length)).toEqual([3, 3, 3, 1])
  expect(oldest.flat().toSorted()).toEqual(Array.from({ length: 10 }, (_, i) => `deed ${i}`))
  const newest = await pages(app, `${span}&order=newest`)
  expect(newest.flat()).toEqual(oldest.flat().toReversed())
  expect(newest.map(({ length }) => length)).toEqual([3, 3, 3, 1])
})

test('what was done before midnight and written down behind it belongs to the day before', async () => {
  const app = await Application.open({ clock })
  now = MIDNIGHT - 100
  app.parts.audit.count({ key: 'k', space: 'default', action: 'late', session: null, status: 200, request: 'r' })
  now = MIDNIGHT + 100
  await app.parts.audit.flush()
  const span = `from=${new Date(MIDNIGHT - 1000).toISOString()}&to=${new Date(MIDNIGHT - 1).toISOString()}`
  expect((await app.get(`/audit?${span}`)).result).toMatchObject([{ action: 'late' }])
})

test.each(['x', '2026-99-99 id', '2026-11-16'])('a cursor that is none is refused: %s', async (cursor) => {
  const app = await withDeeds(1)
  const { status, error } = await app.get(`/audit?cursor=${encodeURIComponent(cursor)}`)
  expect({ status, message: error.message }).toEqual({ status: 400, message: 'This cursor is none of the audit: begin without one.' })
})
