import { expect, test, vi } from 'vitest'
import { connect } from './index.ts'

const INVALID = { name: 'HoldfastError', code: 'INVALID_ARGUMENT', outcome: 'none' }

test.each(['.', '..', '', '\ud800'])('the id %j is refused in every path, and nothing is sent', async (id) => {
  const send = vi.fn<typeof fetch>()
  const store = connect('http://server', { fetch: send })
  const session = store.session('s')
  const calls: Record<string, () => Promise<unknown>> = {
    session: async () => store.session(id).info(),
    create: async () => (id === '' ? store.session(id) : store.create({ id })),
    fork: async () => (id === '' ? store.session(id) : session.fork({ id })),
    export: async () => store.export({ session: id }).next(),
    destroyKey: () => store.destroyKey(id),
    revokeKey: () => store.revokeKey(id),
    task: () => store.task(id),
    shared: () => store.shared(id),
    message: () => session.message(id),
    record: () => session.record(id),
    revisions: () => session.revisions(id),
    replace: () => session.replace(id, { role: 'user', content: 'hi' }),
    erase: () => session.erase(id),
    unshare: () => session.unshare(id),
  }
  for (const [name, call] of Object.entries(calls)) await expect(call(), name).rejects.toMatchObject(INVALID)
  expect(send).not.toHaveBeenCalled()
})

test('any other id reaches its resource', async () => {
  const paths: string[] = []
  const send: typeof fetch = async (url) => {
    paths.push(new URL(String(url)).pathname)
    return new Response('{}', { status: 404 })
  }
  const store = connect('http://server/', { fetch: send, retries: 0 })
  for (const id of ['...', '%2e%2e', '../a', 'ü/?#'])
    await store
      .session(id)
      .info()
      .catch(() => undefined)
  expect(paths.map((path) => decodeURIComponent(path.slice('/api/v1/sessions/'.length)))).toEqual(['...', '%2e%2e', '../a', 'ü/?#'])
})

test('an address that is none of a server is refused at once', () => {
  for (const url of ['nonsense', '', 'localhost:7717', '/tmp/store', 'postgres://a/b', 'http://'])
    expect(() => connect(url), url).toThrow(/begins with http:\/\/ or https:\/\//)
  expect(() => connect('nonsense')).toThrow(expect.objectContaining(INVALID))
})

test('what JSON cannot hold is refused before anything is sent', async () => {
  const send = vi.fn<typeof fetch>()
  const session = connect('http://server', { fetch: send }).session<object>('s')
  await expect(session.append({ role: 'user', n: 1n })).rejects.toMatchObject(INVALID)
  await expect(session.append([{ role: 'user' }, { role: 'user', a: [Number.NaN] }])).rejects.toThrow('messages[1].a[0] is NaN')
  await expect(session.putEntries([{ channel: 'c', key: 'k', value: Number.POSITIVE_INFINITY }])).rejects.toMatchObject(INVALID)
  expect(send).not.toHaveBeenCalled()
})
