import { expect, test } from 'vitest'
import { HoldfastError } from '../errors.ts'
import { connect, type RemoteSession } from './index.ts'

type Answer = readonly [status: number, body: unknown]

/** A store at a server that answers every request alike. */
function serverOf([status, body]: Answer) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return connect('http://server', { retries: 0, fetch: async () => new Response(text, { status }) })
}

const MESSAGE = { role: 'user', content: 'hi' }
const ok = (result: unknown): Answer => [200, { status: 'ok', result }]
const failed = (status: number, error: unknown): Answer => [status, { status: 'error', error }]

const WRITES: Record<string, (session: RemoteSession, store: ReturnType<typeof serverOf>) => Promise<unknown>> = {
  append: (session) => session.append(MESSAGE),
  'append of a batch': (session) => session.append([MESSAGE, MESSAGE]),
  describe: (session) => session.describe({ title: 'T' }),
  commit: (session) => session.commit(),
  share: (session) => session.share(),
  fork: (session) => session.fork(),
  acceptDamage: (session) => session.acceptDamage(),
  create: (_, store) => store.create(),
  importFile: (_, store) => store.importFile('a', new Uint8Array(1)),
  createKey: (_, store) => store.createKey(),
  destroyKey: (_, store) => store.destroyKey('s'),
}
const READS: typeof WRITES = {
  info: (session) => session.info(),
  messages: (session) => session.messages(),
  message: (session) => session.message('m'),
  record: (session) => session.record('m'),
  revisions: (session) => session.revisions('m'),
  entry: (session) => session.entry('c', 'k'),
  window: (session) => session.window(),
  turn: (session) => session.turn(),
  tree: (session) => session.tree(),
  archives: (session) => session.archives(),
  usage: (session) => session.usage(),
  damage: (session) => session.damage(),
  recordPage: (session) => session.recordPage(),
  list: (_, store) => store.list(),
  search: (_, store) => store.search('x'),
  stats: (_, store) => store.stats(),
  tasks: (_, store) => store.tasks(),
  whoami: (_, store) => store.whoami(),
  quotaUsage: (_, store) => store.quotaUsage(),
  memories: (_, store) => store.memories(),
}

test.each<[string, Answer]>([
  ['the body null', [200, null]],
  ['an array', [200, []]],
  ['an object of another program', [200, { ok: true }]],
  ['no result', [200, { status: 'ok' }]],
  ['the result null', ok(null)],
  ['a text as the result', ok('x')],
  ['a list with null', ok([null])],
  ['a list with an empty object', ok([{}])],
  ['no JSON', [200, '<html>']],
])('%s is no answer to any method, and acknowledges nothing', async (_, answer) => {
  const store = serverOf(answer)
  for (const [outcome, calls] of [['unknown', WRITES] as const, ['none', READS] as const])
    for (const [name, call] of Object.entries(calls))
      await expect(call(store.session('s'), store), name).rejects.toMatchObject({ name: 'HoldfastError', code: 'UNAVAILABLE', outcome })
})

test('a result without a required field, or with one of another type, says that versions may differ', async () => {
  const appended = { message_count: 1, pending_tokens: 1, message_id: 'm', version: '9-0', duplicate: false }
  const append = (result: unknown) => serverOf(ok(result)).session('s').append(MESSAGE)
  await expect(append({})).rejects.toThrow(/message_count is missing.*versions of client and server may differ.*repeat it/)
  await expect(append({ ...appended, message_id: 5 })).rejects.toThrow('message_id must be of the type text')
  await expect(append({ ...appended, duplicate: null })).rejects.toThrow('duplicate must be of the type flag')
  expect(await append({ ...appended, new_field: 1 })).toMatchObject({ ids: ['m'], version: '9-0' })
})

test('a newer server may send values that this version does not know', async () => {
  const task = { task_id: 't', status: 'paused', created_at: 1, updated_at: 1, resource_id: 's', archive_id: 'archive_001', attempts: 0 }
  const [info] = await serverOf(ok([{ ...task, result: null, error: null }])).tasks()
  expect(info?.status).toBe('paused')
})

test.each(['TEAPOT', '__proto__', 'toString', 'constructor'])('an error of the unknown code %s keeps its message', async (code) => {
  const error = await serverOf(failed(422, { code, message: 'Short and stout.', details: { more: 1 } }))
    .session('s')
    .append(MESSAGE)
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(HoldfastError)
  const details = { more: 1, server_code: code }
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: 'Short and stout.', retryable: false, outcome: 'none', details })
})

test.each([
  [404, 'NOT_FOUND', false, 'none'],
  [409, 'CONFLICT', false, 'none'],
  [425, 'UNAVAILABLE', true, 'none'],
  [429, 'RESOURCE_EXHAUSTED', true, 'none'],
  [500, 'UNAVAILABLE', false, 'unknown'],
  [502, 'UNAVAILABLE', true, 'unknown'],
  [503, 'UNAVAILABLE', true, 'unknown'],
] as const)('an unknown code with the status %i becomes %s', async (status, code, retryable, outcome) => {
  const append = serverOf(failed(status, { code: 'NEW', message: 'x' }))
    .session('s')
    .append(MESSAGE)
  await expect(append).rejects.toMatchObject({ name: 'HoldfastError', code, retryable, outcome, message: 'x' })
})

test.each<[string, unknown, object]>([
  ['details are null', { code: 'CONFLICT', message: 'x', details: null }, { code: 'CONFLICT', message: 'x', outcome: 'none' }],
  ['the outcome is unknown', { code: 'CONFLICT', message: 'x', details: { outcome: 'bogus' } }, { code: 'CONFLICT', outcome: 'none' }],
  ['the outcome is valid', { code: 'NEW', message: 'x', details: { outcome: 'unknown' } }, { code: 'CONFLICT', outcome: 'unknown' }],
  ['the code is null', { code: null, message: 'x' }, { code: 'CONFLICT', message: 'x' }],
  ['the reason is an object', { code: 'CONFLICT', message: 'x', details: { reason: {} } }, { code: 'CONFLICT', message: 'x' }],
  ['the error is a text', 'bad', { code: 'CONFLICT', message: 'The server answered with 409.' }],
  ['the error is null', null, { code: 'CONFLICT', message: 'The server answered with 409.' }],
])('an error is understood if %s', async (_, sent, expected) => {
  await expect(serverOf(failed(409, sent)).session('s').append(MESSAGE)).rejects.toMatchObject({ name: 'HoldfastError', ...expected })
})

const CHANGE = { type: 'messages.appended', at: '', version: '9-0', messages: [{ id: 'm', message: MESSAGE }], record: { v: 1 } }
const event = (type: string, data: string): string => `id: 1-reset\nevent: ${type}\ndata: ${data}\n\n`

test.each([
  ['no JSON', '{nope'],
  ['null', 'null'],
  ['an empty object', '{}'],
])('a stream whose event is %s ends with UNAVAILABLE', async (_, data) => {
  const session = serverOf([200, event('messages.appended', data)]).session('s')
  await expect(session.follow().next()).rejects.toMatchObject({ name: 'HoldfastError', code: 'UNAVAILABLE', outcome: 'none' })
  const changes = serverOf([200, event('session.changed', data)]).changes()
  await expect(changes.next()).rejects.toMatchObject({ name: 'HoldfastError', code: 'UNAVAILABLE', outcome: 'none' })
})

test('an event of an unknown type is skipped', async () => {
  const stream = event('brand.new', '{nope') + event('messages.appended', JSON.stringify(CHANGE))
  const { value } = await serverOf([200, stream]).session('s').follow().next()
  expect(value).toMatchObject({ type: 'messages.appended', messages: CHANGE.messages })
})
