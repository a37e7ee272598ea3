/** Damage over HTTP: in the field, in the header, in what the client returns, and accepted. */
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { BASE } from '../../src/server/envelope.ts'
import type { DamagedPlace } from '../../src/store/damage/damage.ts'
import { openStore } from '../../src/store/open-store.ts'
import { Session } from '../../src/store/session.ts'
import { journalFiles } from '../damage/surfaces/faults.ts'
import { Application } from './application.ts'

const PLACE: DamagedPlace = { position: 4711, count: 3, reason: 'vanished', since: '2026-11-16T00:00:00.000Z' }

/** A store whose session lost the message "two" to a flipped bit. */
async function withRot(content = 'two'): Promise<Application> {
  const where = await mkdtemp(join(tmpdir(), 'holdfast-damage-'))
  onTestFinished(() => rm(where, { recursive: true, force: true }))
  const store = await openStore(where)
  const session = store.session('s')
  for (const id of ['one', 'two', 'three']) await session.append({ role: 'user', content: id === 'two' ? content : id }, { ids: [id] })
  const directory = join(where, 'sessions', store.parts.engine.name('default', 's'))
  await store.close()
  const [segment = ''] = journalFiles(directory, '').segments
  const bytes = readFileSync(segment)
  const at = bytes.indexOf('"two"')
  bytes[at + 1] = 0x54
  writeFileSync(segment, bytes)
  return Application.open({ where })
}

function clientOf(app: Application) {
  const fetch = ((url: string, init?: RequestInit) =>
    app.app.request(url.replace('http://localhost', ''), withHost(init))) as typeof globalThis.fetch
  return connect('http://localhost', { key: app.key, retries: 0, fetch })
}

function withHost(init: RequestInit = {}): RequestInit {
  return { ...init, headers: { host: 'localhost', ...(init.headers as Record<string, string>) } }
}

test('a page says where messages are missing, in the field and in the header; a whole one says nothing', async () => {
  const app = await withRot()
  const { result, headers } = await app.get('/sessions/s/messages')
  expect(result.messages.map(({ id }: { id: string }) => id)).toEqual(['one', 'three'])
  expect(result.damage).toEqual([expect.objectContaining({ position: expect.any(Number), reason: 'rotten' })])
  expect(headers.get('holdfast-damage')).toBe('1')
  await app.post('/sessions/whole/messages', { role: 'user', content: 'x' })
  const whole = await app.get('/sessions/whole/messages')
  expect(whole.result).not.toHaveProperty('damage')
  expect(whole.headers.get('holdfast-damage')).toBeNull()
})

test('what is lost of a session of which nothing is left is listed; a session that never was is not found', async () => {
  const app = await withRot()
  const { store } = app
  await store.session('gone').append({ role: 'user', content: 'x' })
  const where = join(store.parts.engine.directory as string, 'sessions', store.parts.engine.name('default', 'gone'))
  await rm(where, { recursive: true })
  const { status, result, headers } = await app.get('/sessions/gone/damage')
  expect({ status, result }).toMatchObject({ status: 200, result: [{ kind: 'vanished' }] })
  expect(headers.get('holdfast-damage')).toBe('1')
  expect((await app.get('/sessions/never/damage')).status).toBe(404)
})

test('an answer that is an array has the header alone', async () => {
  const app = await withRot()
  const { result, headers } = await app.get('/sessions/s/usage')
  expect(result).toEqual([])
  expect(headers.get('holdfast-damage')).toBe('1')
})

test('damage that an answer reports is counted', async () => {
  const app = await withRot()
  await app.get('/sessions/s/messages')
  expect(await app.parts.metrics.damaged.get()).toMatchObject({ values: [{ value: 1 }] })
})

test('an export counts its places in the header, also one that is too long to be held', async () => {
  const app = await withRot()
  const session = app.store.session('s')
  const exported = async (): Promise<Response> => app.raw('GET', `${BASE}/sessions/s/export?format=markdown`)
  expect((await exported()).headers.get('holdfast-damage')).toBe('1')
  await session.append({ role: 'user', content: 'x'.repeat(2_000_000) })
  const long = await exported()
  expect(long.headers.get('holdfast-damage')).toBe('1')
  expect(await long.text()).toContain('three')
  expect((await app.raw('GET', `${BASE}/export`)).headers.get('holdfast-damage')).toBe('1')
})

test('the client returns what the server reports, and what only the header counts', async () => {
  const app = await withRot()
  const session = clientOf(app).session('s')
  const { damage } = await session.messages()
  expect(damage).toEqual((await app.get('/sessions/s/messages')).result.damage)
  const bare = ((url: string) =>
    Promise.resolve(
      Response.json(
        { status: 'ok', result: { messages: [], more: false, hits: [], lag: null } },
        { headers: { 'holdfast-damage': '2', via: url } },
      ),
    )) as typeof fetch
  const store = connect('http://localhost', { fetch: bare })
  expect((await store.session('s').messages()).damage).toHaveLength(2)
  expect((await store.search('x')).damage).toHaveLength(2)
})

test('damage is accepted by a key that may write, once, and is noted in the audit log', async () => {
  const app = await Application.open()
  await app.post('/sessions/s/messages', { role: 'user', content: 'x' })
  const accept = vi
    .spyOn(Session.prototype, 'acceptDamage')
    .mockResolvedValue({ version: '7-00000000', duplicate: false, accepted: [PLACE] })
  const reader = await app.newKey({ scope: 'read' })
  expect((await app.post('/sessions/s/accept-damage', {}, { key: reader })).status).toBe(403)
  expect(accept).not.toHaveBeenCalled()
  const writer = await app.newKey({ scope: 'write' })
  const sent = { key: writer, headers: { 'idempotency-key': 'once', 'if-match': '"5-00000000"' } }
  const { result, headers } = await app.post('/sessions/s/accept-damage', {}, sent)
  expect(accept).toHaveBeenCalledWith({ key: 'once', expect: '5-00000000' })
  expect(result).toEqual({ session_id: 's', version: '7-00000000', duplicate: false, accepted: [PLACE] })
  expect(headers.get('etag')).toBe('"7-00000000"')
  const audited = (await app.get('/audit')).result as { action: string; session_id: string }[]
  expect(audited).toContainEqual(expect.objectContaining({ action: 'POST /sessions/{id}/accept-damage', session_id: 's' }))
  expect(await clientOf(app).session('s').acceptDamage()).toEqual({ version: '7-00000000', duplicate: false, accepted: [PLACE] })
})
