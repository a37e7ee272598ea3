import { request } from 'node:http'
import { expect, test } from 'vitest'
import { Application } from '../server/application.ts'
import { ServerProcess, storeDirectory } from '../server/process.ts'

const HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)>"\'&\u2028\u001b[31m'

test('F39 transcript content runs in the page: the page of a share holds nothing of it, and its policy forbids what it does not need', async () => {
  const app = await Application.open()
  await app.post('/sessions', { session_id: 'a', title: HOSTILE })
  await app.post('/sessions/a/messages', { role: HOSTILE, content: HOSTILE })
  const { token } = (await app.post('/sessions/a/shares', {})).result
  const page = await app.raw('GET', `/shared/${token}`, { key: null })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/)
  expect(page.headers.get('x-robots-tag')).toContain('noindex')
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  expect(await page.text()).not.toContain('alert')
  expect((await app.raw('GET', `/shared/${'0'.repeat(64)}`, { key: null })).status).toBe(404)
})

test('F39 transcript content runs in the page: answers and events cannot be taken for a page', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { role: 'user', content: HOSTILE })
  const answer = await app.raw('GET', '/api/v1/sessions/a/messages')
  expect(answer.headers.get('content-type')).toContain('application/json')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  const wrong = await app.raw('GET', `/${encodeURIComponent(HOSTILE)}`)
  expect(wrong.headers.get('content-type')).toContain('application/json')
  const docs = await app.raw('GET', '/docs', { key: null })
  expect(docs.headers.get('content-security-policy')).toContain("default-src 'none'")
})

/** A request with a Host of one's own, which `fetch` does not let one choose. */
function ask(url: string, headers: Readonly<Record<string, string>>, method = 'GET', path = '/api/v1/sessions'): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { method, headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode as number)
    })
    asked.on('error', reject)
    asked.end()
  })
}

test('F40 a local server reachable from a web page: Host and Origin are checked, and a key is needed', async () => {
  const server = await ServerProcess.start(storeDirectory())
  const { url, key, port } = server
  const keyed = { 'x-api-key': key }
  expect(await ask(url, keyed)).toBe(200)
  expect(await ask(url, {})).toBe(401)
  // A page's own name that points to this machine.
  for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'localhost.evil.example'])
    expect(await ask(url, { ...keyed, host }), host).toBe(403)
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, 'LOCALHOST']) expect(await ask(url, { ...keyed, host }), host).toBe(200)
  for (const origin of ['https://evil.example', 'http://localhost:1', 'null', `http://localhost.evil.example:${port}`])
    expect(await ask(url, { ...keyed, host: `localhost:${port}`, origin }), origin).toBe(403)
  expect(await ask(url, { ...keyed, host: `localhost:${port}`, origin: `http://localhost:${port}` })).toBe(200)
  expect(await ask(url, { host: 'evil.example' }, 'GET', '/docs')).toBe(403)
  expect(await ask(url, { origin: 'https://evil.example' }, 'OPTIONS')).toBe(403)
})

test('F40 a local server reachable from a web page: the ready link works once, and its cookie is for this server alone', async () => {
  const server = await ServerProcess.start(storeDirectory())
  const login = await fetch(server.told.ready_link, { redirect: 'manual' })
  expect(login.status).toBe(303)
  const cookie = login.headers.get('set-cookie') ?? ''
  expect(cookie).toMatch(/^holdfast=hft_[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
  expect((await fetch(server.told.ready_link, { redirect: 'manual' })).status).toBe(401)
  const headers = { cookie: cookie.split(';')[0] as string }
  expect(await ask(server.url, headers)).toBe(200)
  expect(await ask(server.url, { ...headers, origin: 'https://evil.example' })).toBe(403)
  // Another start: another link, and the cookie is still good.
  await server.stop()
  const again = await ServerProcess.start(server.directory)
  expect(again.key).toBe(server.key)
  expect(again.told.ready_link).not.toBe(server.told.ready_link)
  expect(await ask(again.url, headers)).toBe(200)
})

test('F40 a local server reachable from a web page: without keys it does not leave the machine', async () => {
  await expect(ServerProcess.start(storeDirectory(), ['--host', '0.0.0.0', '--no-auth'])).rejects.toThrow('loopback')
})
