import { expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '../../src/server/table.ts'
import { tooSlow } from './entry-points.ts'
import { nameOf, requestsOf } from './requests.ts'
import { Served } from './server.ts'
import { createSubject } from './subject.ts'

/** The answers to a request without a text that has reached the handler. */
const CARRIED_OUT = [200, 404, 409, 412]

// Each route has a store of its own: what one writes would have to be indexed by the next that searches.
test.each(ROUTES.map((route) => [nameOf(route), route] as const))('%s takes time in proportion to its text', async (_, route) => {
  const served = await Served.open()
  onTestFinished(() => served.close())
  const { plain, withText } = requestsOf(route)
  const { status, text } = await plain.send(served, await createSubject(served.store, 'plain', 'x'), '')
  expect(CARRIED_OUT, text).toContain(status)
  const named = await createSubject(served.store, 'talk', 'x')
  const found: string[] = []
  for (const { send, ...request } of withText) {
    found.push(...(await tooSlow({ ...request, prepare: (text) => () => send(served, named, text) })))
  }
  expect(found).toEqual([])
})
