import { expect, test } from 'vitest'
import { Application } from './application.ts'

test('the page is served with a policy that lets nothing in, and its files for ever under their hashed names', async () => {
  const app = await Application.open()
  for (const path of ['/', '/sessions/a%2Fb/context']) {
    const page = await app.raw('GET', path, { key: null })
    expect(page.status).toBe(200)
    expect(page.headers.get('cache-control')).toBe('no-cache')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    expect(policy).not.toContain('unsafe')
    const html = await page.text()
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style| on\w+=/)
    const [script] = /\/assets\/index-[\w-]+\.js/.exec(html) ?? []
    const file = await app.raw('GET', script as string, { key: null, headers: { 'accept-encoding': 'br' } })
    expect(Object.fromEntries(file.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'content-encoding': 'br',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
  }
  for (const path of ['/assets/../package.json', '/assets/%2e%2e/manifest.json', '/assets/nothing.js', '/elsewhere'])
    expect((await app.raw('GET', path, { key: null })).status).toBe(404)
})

test('a key becomes a cookie that opens what the key opens; a wrong one is refused, and slowed down', async () => {
  const app = await Application.open()
  const key = await app.newKey({ scope: 'read', owner: 'kim' })
  const response = await app.raw('POST', '/login', { key: null, body: { key } })
  const cookie = response.headers.get('set-cookie') ?? ''
  expect(cookie).toMatch(/^holdfast=hft_[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
  expect(cookie).not.toContain(key)
  const headers = { cookie: cookie.split(';')[0] as string }
  expect((await app.get('/whoami', { key: null, headers })).result).toMatchObject({
    kind: 'cookie',
    scope: 'read',
    owner: 'kim',
    space: 'default',
  })
  expect((await app.raw('POST', '/logout', { key: null, headers })).headers.get('set-cookie')).toMatch(/^holdfast=; Path=\/; Max-Age=0/)
  expect((await app.raw('POST', '/login', { key: null, body: { key: `${key}x` } })).status).toBe(401)
  expect((await app.raw('POST', '/login', { key: null, body: {} })).status).toBe(401)
  expect((await app.raw('POST', '/login', { key: null, body: { key }, headers: { origin: 'https://evil.example' } })).status).toBe(403)
  const attempts = Array.from({ length: 200 }, () => app.raw('POST', '/login', { key: null, body: { key: 'hf_guess' } }))
  expect((await Promise.all(attempts)).map(({ status }) => status)).toContain(429)
})

test('messages are read from any depth of a long session, also of a fork, and archives tell where theirs stand', async () => {
  const app = await Application.open()
  const session = app.store.session('long')
  for (let from = 1; from <= 3000; from += 500) {
    await session.append(
      Array.from({ length: 500 }, (_, i) => ({ id: `m${from + i}`, role: 'user', content: `${from + i} ${'x'.repeat(900)}` })),
    )
  }
  const depths = async (query: string, id = 'long'): Promise<number[]> =>
    (await app.get(`/sessions/${id}/messages?${query}`)).result.messages.map(({ depth }: { depth: number }) => depth)
  for (const depth of [1, 2, 777, 1500, 2999, 3000]) {
    expect(await depths(`archived=include&depth=${depth}&limit=2`)).toEqual(depth === 3000 ? [3000] : [depth, depth + 1])
  }
  expect(await depths('archived=include&depth=3001')).toEqual([])
  const fork = await session.fork({ at: 'm1200', id: 'fork' })
  await fork.append({ role: 'user', content: 'on the fork' })
  expect(await depths('archived=include&depth=1200', 'fork')).toEqual([1200, 1201])
  await session.commit({ keep: 1000 })
  expect((await app.get('/sessions/long/archives')).result).toMatchObject([{ message_count: 2000, spans: [{ from: 1, to: 2000 }] }])
  await session.revert({ message: 'm500' })
  expect((await app.get('/sessions/long/archives')).result).toMatchObject([{ message_count: 2000, spans: [{ from: 1, to: 500 }] }])
})

test('the raw record of a message is told, and of an inherited one nothing behind what was inherited', async () => {
  const app = await Application.open()
  const session = app.store.session('a')
  await session.append([
    { id: 'm1', role: 'user', content: 'one' },
    { id: 'm2', role: 'user', content: 'two' },
  ])
  await session.fork({ at: 'm1', id: 'b' })
  const own = (await app.get('/sessions/a/messages/m1/record')).result
  expect(own).toMatchObject({ session_id: 'a', position: expect.any(Number), record: { type: 'messages.appended', messages: [{}, {}] } })
  const inherited = (await app.get('/sessions/b/messages/m1/record')).result
  expect(inherited).toMatchObject({ session_id: 'a', record: { messages: [{ content: 'one' }] } })
  expect((await app.get('/sessions/b/messages/m2/record')).status).toBe(404)
})

test('what happened to a session is told page by page, the last thing first, without what opens a share', async () => {
  const app = await Application.open()
  const session = app.store.session('a')
  await session.append({ id: 'm1', role: 'user', content: 'one' })
  await session.append({ id: 'm2', role: 'user', content: 'two' })
  await session.snapshot('calm')
  await session.share()
  await session.revert({ message: 'm1' })
  const typesOf = ({ records }: { records: { record: { type: string } }[] }): string[] => records.map(({ record }) => record.type)
  const first = (await app.get('/sessions/a/records?limit=2')).result
  expect(typesOf(first)).toEqual(['head.moved', 'share.granted'])
  expect(first.records[1].record).not.toHaveProperty('token')
  const rest = (await app.get(`/sessions/a/records?before=${first.before}`)).result
  expect(typesOf(rest)).toEqual(['snapshot.taken', 'messages.appended', 'messages.appended', 'session.created'])
  expect(rest.before).toBeNull()
  expect(typesOf((await app.get('/sessions/a/records?messages=exclude')).result)).not.toContain('messages.appended')
  expect((await app.get('/sessions/nobody/records')).status).toBe(404)
})
