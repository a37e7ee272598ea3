import { HoldfastError } from 'holdfast/client'
import { expect, test, vi } from 'vitest'
import { LinkViewModel } from '../../web/shell/link-view-model.ts'

type Answer = number | Error

/** A link to a server that gives these answers, one after the other. */
function make(...answers: Answer[]) {
  const asked: { readonly input: unknown; readonly init: RequestInit | undefined }[] = []
  const link = new LinkViewModel(async (input, init) => {
    asked.push({ input, init })
    const answer = answers.shift() ?? 200
    if (typeof answer !== 'number') throw answer
    return new Response(JSON.stringify({ error: { message: `refused with ${answer}` } }), { status: answer })
  })
  return { link, asked }
}

const CUT_OFF = new TypeError('fetch failed')

test.each([
  ['is connected before the first request', [], 'connected'],
  ['is connected after an answer', [200], 'connected'],
  ['is connected after a refusal', [404], 'connected'],
  ['is lost when a request gets no answer', [CUT_OFF], 'lost'],
  ['stays lost while the server is busy', [CUT_OFF, 503], 'lost'],
  ['is connected again with the next answer', [CUT_OFF, 200], 'connected'],
  ['is signed out when the server does not know the caller', [401], 'signed-out'],
  ['is lost when it was signed out and the server does not answer', [401, CUT_OFF], 'lost'],
] as const)('the link %s', async (_, answers, expected) => {
  const { link } = make(...answers)
  for (const _answer of answers) await link.fetch('/api').catch(() => undefined)
  expect(link.state).toBe(expected)
})

test('a request that the page aborted says nothing about the server', async () => {
  const { link } = make(CUT_OFF)
  await expect(link.fetch('/api', { signal: AbortSignal.abort() })).rejects.toBe(CUT_OFF)
  expect(link.state).toBe('connected')
})

test('the answer and the error of a request reach its caller', async () => {
  const { link, asked } = make(404, CUT_OFF)
  const init = { method: 'PUT' }
  expect((await link.fetch('/api', init)).status).toBe(404)
  await expect(link.fetch('/api')).rejects.toBe(CUT_OFF)
  expect(asked[0]).toEqual({ input: '/api', init })
})

test('listeners hear of a change once, until they are forgotten', async () => {
  const { link } = make(CUT_OFF, CUT_OFF, 200)
  const told = vi.fn()
  const forget = link.subscribe(told)
  await link.fetch('/api').catch(() => undefined)
  await link.fetch('/api').catch(() => undefined)
  expect(told).toHaveBeenCalledTimes(1)
  forget()
  await link.fetch('/api')
  expect(told).toHaveBeenCalledTimes(1)
})

test('a reconnect is an answer after the link was lost, and no sign-in', async () => {
  const { link } = make(CUT_OFF, 200, 401, 200, CUT_OFF, 200)
  const [reconnected, forgotten] = [vi.fn(), vi.fn()]
  link.onReconnect(reconnected)
  link.onReconnect(forgotten)()
  const counts: number[] = []
  for (let i = 0; i < 6; i++) {
    await link.fetch('/api').catch(() => undefined)
    counts.push(reconnected.mock.calls.length)
  }
  expect(counts).toEqual([0, 1, 1, 1, 1, 2])
  expect(forgotten).not.toHaveBeenCalled()
})

test('signing in sends the key without spaces and connects', async () => {
  const { link, asked } = make(401, 200)
  await link.fetch('/api')
  await link.signIn('  hf_key\n')
  expect(link.state).toBe('connected')
  expect(asked[1]).toMatchObject({ input: '/login', init: { method: 'POST', body: '{"key":"hf_key"}' } })
})

test('a refused key leaves the page signed out and says why', async () => {
  const { link } = make(401, 401)
  await link.fetch('/api')
  await expect(link.signIn('wrong')).rejects.toThrow(new HoldfastError('UNAUTHENTICATED', 'refused with 401'))
  expect(link.state).toBe('signed-out')
})

test('signing out asks the server and leaves the page signed out', async () => {
  const { link, asked } = make(200)
  await link.signOut()
  expect(link.state).toBe('signed-out')
  expect(asked).toMatchObject([{ input: '/logout', init: { method: 'POST' } }])
})
