import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type TarFile, tarOf } from '../../src/formats/tar.ts'
import { claudeCode, openViking, praisonAi, praisonFork } from '../transfer/fixtures.ts'
import { Application } from './application.ts'

const BYTES = { headers: { 'content-type': 'application/octet-stream' } }

async function exported(app: Application, path: string): Promise<string> {
  const response = await app.raw('GET', `/api/v1${path}`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-disposition')).toBe('attachment')
  return response.text()
}

test('what one store exports another imports, once, and exports the same', async () => {
  const [from, to] = [await Application.open(), await Application.open()]
  await from.post('/sessions/a/messages', { id: 'm1', role: 'user', content: 'hi' })
  await from.post('/sessions/a/messages', { id: 'm2', role: 'assistant', content: 'hello' })
  await from.post('/sessions/a/snapshots', { name: 'here' })
  const text = await exported(from, '/sessions/a/export')
  const first = await to.post('/import?name=a.jsonl', text, BYTES)
  expect(first.result).toMatchObject({ sessions: [{ session_id: 'a', messages: 2 }], totals: { sessions: 1, messages: 2 }, dry_run: false })
  expect(await exported(to, '/sessions/a/export')).toBe(text)
  expect((await to.post('/import?name=a.jsonl', text, BYTES)).result.totals).toMatchObject({ messages: 0 })
})

test('a file may be compressed, and a dry run writes nothing', async () => {
  const app = await Application.open()
  const chat = JSON.stringify([{ role: 'user', content: 'one' }])
  const told = await app.post('/import?name=chat.json&from=openai&dry_run=true', chat, BYTES)
  expect(told.result).toMatchObject({ totals: { messages: 1 }, dry_run: true })
  expect((await app.get('/sessions')).result).toEqual([])
  const response = await app.app.request('/api/v1/import?name=chat.json.gz', {
    method: 'POST',
    headers: { host: 'localhost', 'x-api-key': app.key, ...BYTES.headers },
    body: gzipSync(chat),
  })
  expect(await response.json()).toMatchObject({ result: { totals: { messages: 1 } } })
  expect((await app.get('/sessions')).result).toHaveLength(1)
})

test('what is of no known format, a form, and an unknown format are refused', async () => {
  const app = await Application.open()
  expect(await app.post('/import', '{"nothing":"of the kind"}', BYTES)).toMatchObject({ status: 400, error: { code: 'INVALID_ARGUMENT' } })
  expect(await app.post('/import', 'x', { headers: { 'content-type': 'text/plain' } })).toMatchObject({ status: 400 })
  expect(await app.post('/import?from=unheard-of', '[]', BYTES)).toMatchObject({ status: 400, error: { code: 'INVALID_ARGUMENT' } })
  await app.post('/sessions/a/messages', { role: 'user', content: 'hi' })
  expect(await app.get('/sessions/a/export?format=unheard-of')).toMatchObject({ status: 400 })
  expect(await app.get('/sessions/none/export')).toMatchObject({ status: 404 })
})

test('a file that is all garbage is listed as unreadable, and its bytes are in the quarantine', async () => {
  const app = await Application.open()
  const { status, result } = await app.post('/import?name=chat.jsonl', 'nothing of the kind', BYTES)
  expect({ status, result }).toMatchObject({
    status: 200,
    result: {
      sessions: [
        { source: 'chat.jsonl', session_id: null, format: null, damaged: 1, unreadable: true, damage: [{ offset: 0, length: 19 }] },
      ],
      totals: { sources: 1, sessions: 0, damaged: 1, unreadable: 1 },
    },
  })
  const kept = []
  for await (const { value } of app.store.in('_store').session(`quarantine:${app.store.space}`).entries('import')) kept.push(value)
  expect(kept).toMatchObject([{ source: 'chat.jsonl', base64: Buffer.from('nothing of the kind').toString('base64') }])
})

test('a page for people can be fetched, and secrets taken out', async () => {
  const app = await Application.open()
  const secret = `sk-${createHash('sha256').update('a secret').digest('hex').slice(0, 48)}`
  await app.post('/sessions/a/messages', { role: 'user', content: `<script>x</script> my key is ${secret}` })
  const page = await exported(app, '/sessions/a/export?format=html&redact=true')
  expect(page).not.toContain('<script>x')
  expect(page).not.toContain(secret)
  expect(await exported(app, '/sessions/a/export?format=markdown')).toContain(secret)
})

test('a session is exported with its forks, and a space as a whole', async () => {
  const app = await Application.open()
  await app.post('/sessions/a/messages', { id: 'm1', role: 'user', content: 'hi' })
  await app.post('/sessions/a/fork', { session_id: 'b' })
  await app.post('/sessions/c/messages', { id: 'm1', role: 'user', content: 'other' })
  const sessionsIn = (text: string): string[] => [...new Set([...text.matchAll(/"session":"([abc])"/g)].map(([, id]) => id as string))]
  expect(sessionsIn(await exported(app, '/sessions/a/export'))).toEqual(['a'])
  expect(sessionsIn(await exported(app, '/sessions/a/export?tree=true'))).toEqual(['a', 'b'])
  expect(sessionsIn(await exported(app, '/export'))).toEqual(['a', 'b', 'c'])
})

const send = (app: Application, path: string, body: Uint8Array): Promise<Response> =>
  Promise.resolve(
    app.app.request(`/api/v1${path}`, { method: 'POST', headers: { host: 'localhost', 'x-api-key': app.key, ...BYTES.headers }, body }),
  )

test('a directory that is one session is sent as an archive, and what cannot be read of it is put into the quarantine there', async () => {
  const app = await Application.open()
  const files = Object.entries(openViking.files).map(([path, content]) => ({ path, bytes: Buffer.from(content) }))
  const torn = files.map((file) =>
    file.path === 'messages.jsonl' ? { ...file, bytes: Buffer.concat([file.bytes, Buffer.from('{"to')]) } : file,
  )
  const response = await send(app, '/import?name=s-1.tar.gz', gzipSync(tarOf(torn)))
  const { result } = (await response.json()) as { result: { sessions: unknown[] } }
  expect(result.sessions).toMatchObject([{ source: 's-1', session_id: 's-1', messages: 4, damaged: 1, format: 'openviking' }])
  const kept = []
  for await (const { value } of app.store.in('_store').session(`quarantine:${app.store.space}`).entries('import')) kept.push(value)
  expect(kept).toMatchObject([{ base64: Buffer.from('{"to').toString('base64') }])
})

test('an archive of a home folder has all its sessions, whatever they are', async () => {
  const app = await Application.open()
  const of = ({ files }: { files: Readonly<Record<string, string>> }, below: string): TarFile[] =>
    Object.entries(files).map(([path, content]) => ({ path: `${below}${path}`, bytes: Buffer.from(content) }))
  const archive = tarOf([...of(openViking, 'viking/s-1/'), ...of(claudeCode, 'projects/p/'), ...of(praisonAi, 'praison/')])
  const response = await send(app, '/import?name=home.tar', archive)
  expect(await response.json()).toMatchObject({ result: { totals: { sources: 3, sessions: 4, messages: 21 } } })
})

test('a child that only its parent tells of becomes its fork, also if it is sent alone later', async () => {
  const app = await Application.open()
  const [parent, child] = [praisonAi.files['p-1.json'] as string, praisonFork.files['p-2.json'] as string]
  await app.post('/import?name=p-1.json', parent, BYTES)
  const { parent_id: _, forked_from_message_id: __, ...alone } = JSON.parse(child) as Record<string, unknown>
  await app.post('/import?name=p-2.json', JSON.stringify(alone), BYTES)
  expect((await app.get('/sessions/p-1/tree')).result).toMatchObject({ children: [{ session_id: 'p-2', kind: 'fork' }] })
})
