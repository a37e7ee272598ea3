/**
 * No space sees another, on any route: generated from the route table, so that a new route is tried as soon as it is there. Whatever exists in
 * one space is asked for from another, and must be answered exactly as if it had never been.
 */
import { expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { BASE } from '../../src/server/envelope.ts'
import type { Route } from '../../src/server/route.ts'
import { ROUTES } from '../../src/server/table.ts'
import { Application } from './application.ts'

/** Something to be found, in the space of the first key. */
interface Planted {
  readonly id: string
  readonly mid: string
  readonly aid: string
  readonly tid: string
  readonly sid: string
  readonly kid: string
  readonly rid: string
  readonly token: string
}

const SECRET = 'marigold'

async function plant(app: Application, key: string): Promise<Planted> {
  const id = 'session-of-a'
  const part = { type: 'tool', tool_id: 'tool-of-a', tool_name: 'x', tool_input: {}, tool_output: SECRET }
  await app.post('/sessions', { session_id: id, title: SECRET, owner: 'kim', tags: [SECRET], metadata: { word: SECRET } }, { key })
  await app.post(`/sessions/${id}/messages`, { id: 'message-of-a', role: 'user', content: `I prefer ${SECRET} trains.` }, { key })
  await app.post(`/sessions/${id}/messages`, { role: 'assistant', parts: [part, { type: 'text', text: SECRET }] }, { key })
  await app.post(`/sessions/${id}/snapshots`, { name: 'snapshot-of-a' }, { key })
  await app.post(`/sessions/${id}/commit`, { keep_recent_count: 1 }, { key })
  await new Worker(app.store).drain()
  const [task] = (await app.get('/tasks', { key })).result
  const share = (await app.post(`/sessions/${id}/shares`, {}, { key })).result
  const [{ key_id }] = (await app.get('/keys', { key })).result
  const { token } = (await app.post('/tokens', { session_id: id }, { key })).result
  return { id, mid: 'message-of-a', aid: 'archive_001', tid: task.task_id, sid: share.share_id, kid: key_id, rid: 'tool-of-a', token }
}

/** The same names with nothing behind them. */
const NOTHING: Planted = {
  id: 'session-of-0',
  mid: 'message-of-0',
  aid: 'archive_001',
  tid: '01900000-0000-7000-8000-000000000000.c2Vzc2lvbi1vZi1h',
  sid: 'share-of-0',
  kid: '0000000000000000',
  rid: 'tool-of-0',
  token: 'hft_e30.e30',
}

const BODIES: Readonly<Record<string, unknown>> = {
  'post /sessions/{id}/fork': { session_id: 'taken' },
  'post /sessions/{id}/snapshots': { name: 'n' },
  'post /sessions/{id}/revert': { to: 'snapshot-of-a' },
  'post /sessions/{id}/usage': { model: 'm', input_tokens: 1, output_tokens: 1 },
  'post /sessions/{id}/messages/replace-tail': { last: [{ role: 'user', content: 'x' }], messages: [] },
  'put /sessions/{id}/messages/{mid}': { message: { role: 'user', content: 'mine now' } },
  'post /search/find': { query: SECRET },
  'post /search/search': { query: SECRET, session_id: 'session-of-a' },
  'post /sessions': { parent: 'session-of-a' },
  'post /tokens': { session_id: 'session-of-a' },
  'post /doctor': { session_id: 'session-of-a' },
  'patch /sessions/{id}': { title: 'mine now' },
}
const QUERIES: Readonly<Record<string, string>> = {
  'get /search': `?q=${SECRET}`,
  'get /sessions/{id}/entries': '?channel=used',
  'get /sessions/{id}/tool-results/{rid}/search': `?q=${SECRET}`,
  'get /memories': '?owner=kim',
  'get /tasks': '?resource_id=session-of-a',
}
/** These make what is missing, in the caller's own space: what they answer is his own. */
const CREATES = new Set([
  'post /sessions/{id}/messages',
  'post /sessions/{id}/messages/batch',
  'post /sessions/{id}/messages/group',
  'put /sessions/{id}/entries',
])

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`
}

function filled({ path }: Route, values: Planted): string {
  return path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name as keyof Planted]))
}

async function ask(app: Application, route: Route, key: string, values: Planted): Promise<{ status: number; text: string }> {
  const name = nameOf(route)
  const body =
    route.method === 'get' || route.method === 'delete'
      ? undefined
      : (BODIES[name] ?? {
          role: 'user',
          content: 'x',
          messages: [{ role: 'user', content: 'x' }],
          entries: [{ channel: 'c', key: 'k', value: 1 }],
        })
  const response = await app.raw(route.method.toUpperCase(), `${BASE}${filled(route, values)}${QUERIES[name] ?? ''}`, {
    key,
    ...(body === undefined ? {} : { body }),
  })
  // A stream has told all there is when its first events are there.
  const text = response.headers.get('content-type')?.includes('event-stream') ? await firstOf(response) : await response.text()
  return { status: response.status, text }
}

async function firstOf(response: Response): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  while (!text.includes('event: ')) text += new TextDecoder().decode((await reader.read()).value)
  await reader.cancel()
  return text
}

/** What names the things that were asked for, and what is made anew each time, tells nothing. */
function withoutNames(text: string): string {
  return text
    .replaceAll(/(session|message|share|tool)-of-[a0]/g, '$1')
    .replaceAll(/[0-9a-f-]{36}\.[A-Za-z0-9_-]+/g, 'task')
    .replaceAll(/[0-9a-f]{16,}/g, 'hex')
}

/** What is answered alike to everybody, whatever there is: it must not hold a word of it. */
const ABOUT_NOTHING = ROUTES.filter(({ path }) => !path.includes('{'))
const ABOUT_SOMETHING = ROUTES.filter(({ path }) => path.includes('{'))

test('no route tells another space anything of a session, not even that it exists', async () => {
  const { app, a, b, planted, before } = await twoSpaces()
  // A write that is refused may leave a data key in the caller's own space, which could then be destroyed: that route comes first.
  const routes = ABOUT_SOMETHING.filter((route) => route.scope !== 'anyone' && !CREATES.has(nameOf(route))).toSorted(
    (one, other) => Number(other.path.endsWith('/key')) - Number(one.path.endsWith('/key')),
  )
  expect(routes.length).toBeGreaterThan(30)
  for (const route of routes) {
    const name = nameOf(route)
    const [there, nowhere] = [await ask(app, route, b, planted), await ask(app, route, b, NOTHING)]
    expect.soft(there.status, name).toBeGreaterThanOrEqual(400)
    expect.soft({ ...there, text: withoutNames(there.text) }, name).toEqual({ ...nowhere, text: withoutNames(nowhere.text) })
    expect.soft(await stateOf(app, a, planted), name).toEqual(before)
  }
})

test('what is answered alike to everybody has nothing of another space in it', async () => {
  const { app, a, b, planted, before } = await twoSpaces()
  // Whoever asks for a session is told which one he asked for.
  const asked = /"session_id":"session-of-a"|There is no session \\"session-of-a\\"/g
  for (const route of ABOUT_NOTHING) {
    const name = nameOf(route)
    const { text } = await ask(app, route, b, planted)
    expect.soft(text, name).not.toContain(SECRET)
    expect.soft(text.replaceAll(asked, ''), name).not.toContain('-of-a')
    expect.soft(await stateOf(app, a, planted), name).toEqual(before)
  }
})

test('a write makes a session of the caller’s own, beside the one of the same name', async () => {
  const { app, a, b, planted, before } = await twoSpaces()
  for (const name of CREATES) {
    const route = ROUTES.find((one) => nameOf(one) === name) as Route
    const { status, text } = await ask(app, route, b, planted)
    expect.soft(status, name).toBeLessThan(300)
    expect.soft(text, name).not.toContain(SECRET)
    expect.soft(await stateOf(app, a, planted), name).toEqual(before)
  }
})

/** A space with a secret in it, and a key to another one. */
async function twoSpaces(): Promise<{ app: Application; a: string; b: string; planted: Planted; before: unknown }> {
  const app = await Application.open()
  const [a, b] = [await app.newKey({ space: 'a', scope: 'admin' }), await app.newKey({ space: 'b', scope: 'admin' })]
  const planted = await plant(app, a)
  return { app, a, b, planted, before: await stateOf(app, a, planted) }
}

async function stateOf(app: Application, key: string, { id }: Planted): Promise<unknown> {
  const [info, messages, keys] = [
    await app.get(`/sessions/${id}`, { key }),
    await app.get(`/sessions/${id}/messages?archived=include`, { key }),
    await app.get('/keys', { key }),
  ]
  return [info.result, messages.result, keys.result]
}

test('an account and a user select a space inside the key’s, and never leave it', async () => {
  const app = await Application.open()
  const [a, b] = [await app.newKey({ space: 'a' }), await app.newKey({ space: 'b' })]
  const as = (account: string, user: string) => ({ headers: { 'x-openviking-account': account, 'x-openviking-user': user } })
  await app.post('/sessions', { session_id: 's', title: 'of acme' }, { key: a, ...as('acme', 'alice') })
  const told = await app.get('/sessions/s', { key: a, ...as('acme', 'alice') })
  expect(told.result).toMatchObject({
    title: 'of acme',
    user: { account_id: 'acme', user_id: 'alice' },
    uri: 'viking://user/alice/sessions/s',
  })
  for (const [key, account, user] of [
    [a, 'acme', 'bob'],
    [a, 'alice', 'acme'],
    [b, 'acme', 'alice'],
    [b, 'a', 'acme'],
    [b, '../a', 'acme'],
    [b, 'a\u001facme', 'alice'],
  ] as const)
    expect((await app.get('/sessions/s', { key, ...as(account, user) })).status).toBeGreaterThanOrEqual(400)
  expect((await app.get('/sessions/s', { key: a })).status).toBe(404)
})

test('a key that is bound to an owner sees, makes and finds only what is his', async () => {
  const app = await Application.open()
  const kim = await app.newKey({ owner: 'kim', scope: 'write' })
  await app.post('/sessions', { session_id: 'hers', owner: 'lee', title: SECRET })
  await app.post('/sessions/hers/messages', { id: 'm', role: 'user', content: SECRET })
  const { task_id } = (await app.post('/sessions/hers/commit')).result
  await app.post('/sessions/his/messages', { role: 'user', content: 'mine' }, { key: kim })
  expect((await app.get('/sessions/his')).result.owner).toBe('kim')
  expect((await app.get('/sessions', { key: kim })).result.map(({ session_id }: { session_id: string }) => session_id)).toEqual(['his'])
  expect((await app.get('/sessions?owner=lee', { key: kim })).result).toHaveLength(1)
  expect((await app.get(`/search?q=${SECRET}`, { key: kim })).result.hits).toEqual([])
  expect((await app.get('/tasks', { key: kim })).result).toEqual([])
  const [hers, none] = [await app.get('/sessions/hers', { key: kim }), await app.get('/sessions/none', { key: kim })]
  expect(JSON.stringify(hers.error).replaceAll('hers', 'none')).toBe(JSON.stringify(none.error))
  for (const [method, path] of [
    ['GET', '/sessions/hers/messages'],
    ['POST', '/sessions/hers/messages'],
    ['POST', '/sessions/hers/fork'],
    ['DELETE', '/sessions/hers'],
    ['GET', `/tasks/${task_id}`],
  ] as const)
    expect(
      (await app.send(method, path, { key: kim, ...(method === 'POST' ? { body: { role: 'user', content: 'x' } } : {}) })).status,
      path,
    ).toBe(404)
  expect((await app.send('PATCH', '/sessions/his', { key: kim, body: { owner: 'lee' } })).status).toBe(403)
  expect((await app.post('/sessions', { owner: 'lee' }, { key: kim })).status).toBe(403)
  for (const path of ['/stats', '/keys']) expect((await app.get(path, { key: kim })).status).toBe(403)
  await app.send('DELETE', '/sessions/his', { key: kim })
  expect((await app.post('/sessions/his/restore', {}, { key: kim })).status).toBe(200)
})
