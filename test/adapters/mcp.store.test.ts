import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HoldfastEventStore } from '../../src/adapters/mcp/index.ts'
import type { McpOptions } from '../../src/adapters/mcp/options.ts'
import { makeMcpServer } from '../../src/adapters/mcp/server.ts'
import { STORE_SPACE } from '../../src/engine/names.ts'
import type { JsonObject } from '../../src/record/record.ts'
import type { StoreApi } from '../../src/store/api/store-api.ts'
import { Application } from '../server/application.ts'
import { OPENERS, opened } from './openers.ts'

const READING = ['get_context', 'get_window', 'list_sessions', 'read_session', 'search_sessions']
const WRITING = ['append_message', 'commit_session', 'fork_session']

async function clientOf(store: StoreApi, options: Partial<McpOptions> = {}): Promise<Client> {
  const server = makeMcpServer(store, { version: '0.0.0', allowWrite: false, live: true, ...options })
  const client = new Client({ name: 'test', version: '0' })
  const [here, there] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(there), client.connect(here)])
  onTestFinished(() => client.close())
  return client
}

async function call(client: Client, name: string, words: object): Promise<unknown> {
  const { structuredContent, content, isError } = await client.callTool({ name, arguments: { ...words } })
  if (isError === true) throw new Error(JSON.stringify(content))
  expect(JSON.parse((content as { text: string }[])[0]?.text ?? '')).toEqual(structuredContent)
  return structuredContent
}

const toolsOf = async (client: Client): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name).sort()

describe.each(OPENERS)('on $name', (opener) => {
  test('an agent finds and reads its own past', async () => {
    const { store } = await opened(opener)
    const session = store.session<JsonObject>('a/b c')
    await session.append([
      { role: 'user', content: 'Where is the marigold?' },
      { role: 'assistant', content: 'In the garden.' },
    ])
    await session.describe({ title: 'Flowers' })
    const client = await clientOf(store)
    expect(await toolsOf(client)).toEqual(READING)
    expect(await call(client, 'search_sessions', { query: 'marigold' })).toMatchObject({ hits: [{ session_id: 'a/b c', role: 'user' }] })
    expect(await call(client, 'list_sessions', {})).toMatchObject({
      sessions: [{ session_id: 'a/b c', title: 'Flowers', message_count: 2 }],
      next_cursor: null,
    })
    expect(await call(client, 'read_session', { session_id: 'a/b c', limit: 1 })).toMatchObject({
      messages: [{ role: 'assistant', text: 'In the garden.', message: { role: 'assistant', content: 'In the garden.' } }],
      more: true,
    })
    expect(await call(client, 'get_window', { session_id: 'a/b c' })).toMatchObject({
      text: 'user: Where is the marigold?\n\nassistant: In the garden.',
    })
    const { resources } = await client.listResources()
    expect(resources).toMatchObject([{ uri: 'session://a%2Fb%20c', name: 'Flowers' }])
    const { contents } = await client.readResource({ uri: resources[0]?.uri ?? '' })
    expect((contents[0] as { text: string }).text).toContain('In the garden.')
    const names = [
      { ref: { type: 'ref/prompt' as const, name: 'resume_session' }, argument: { name: 'session_id', value: 'flow' } },
      { ref: { type: 'ref/resource' as const, uri: 'session://{id}' }, argument: { name: 'id', value: '' } },
    ]
    for (const name of names) expect((await client.complete(name)).completion.values).toEqual(['a/b c'])
    const prompt = await client.getPrompt({ name: 'resume_session', arguments: { session_id: 'a/b c' } })
    expect(JSON.stringify(prompt.messages)).toContain('In the garden.')
    await expect(call(client, 'read_session', { session_id: 'nobody' })).rejects.toThrow(/There is no session ."nobody/)
    await expect(call(client, 'append_message', { session_id: 'a', content: 'x' })).rejects.toThrow('append_message')
  })

  test('an error of a tool has its code, its reason and its message', async () => {
    const client = await clientOf((await opened(opener)).store, { allowWrite: true })
    for (const name of [...READING, ...WRITING]) {
      // One lists all sessions, and one creates the session.
      if (name === 'list_sessions' || name === 'append_message') continue
      const query = name === 'search_sessions' ? { query: 'x' } : {}
      const { isError, content } = await client.callTool({ name, arguments: { session_id: 'nope', ...query } })
      const [message, error] = content as { text: string }[]
      expect({ isError, message: message?.text }).toEqual({ isError: true, message: expect.stringContaining('There is no session "nope"') })
      expect(JSON.parse(error?.text ?? '')).toMatchObject({
        error: { code: 'NOT_FOUND', details: { reason: 'absent', session_id: 'nope' } },
      })
    }
  })

  test('an unknown session is not found in every request, and never an internal error', async () => {
    const client = await clientOf((await opened(opener)).store)
    const notFound = { code: -32_002, message: expect.stringContaining('There is no session "nope"'), data: { code: 'NOT_FOUND' } }
    await expect(client.readResource({ uri: 'session://nope' })).rejects.toMatchObject(notFound)
    await expect(client.subscribeResource({ uri: 'session://nope' })).rejects.toMatchObject(notFound)
    await expect(client.getPrompt({ name: 'resume_session', arguments: { session_id: 'nope' } })).rejects.toMatchObject(notFound)
    const wrong = { code: -32_602, data: { code: 'INVALID_ARGUMENT' } }
    await expect(client.readResource({ uri: 'session://%FF' })).rejects.toMatchObject(wrong)
  })

  test('an unknown argument is refused with those that there are, and nothing is done', async () => {
    const { store } = await opened(opener)
    await store.session<JsonObject>('s').append({ role: 'user', content: 'hello' })
    const client = await clientOf(store, { allowWrite: true })
    const { tools } = await client.listTools()
    expect(tools).toHaveLength(READING.length + WRITING.length)
    for (const { name, inputSchema } of tools) {
      expect(inputSchema).toMatchObject({ additionalProperties: false })
      const names = Object.keys(inputSchema.properties ?? {})
      const known = { session_id: 's', query: 'hello', content: 'x' }
      const given = Object.fromEntries(Object.entries(known).filter(([key]) => names.includes(key)))
      const { isError, content } = await client.callTool({ name, arguments: { ...given, sesion: 's' } })
      const [{ text = '' } = {}] = content as { text?: string }[]
      expect({ name, isError, text }).toMatchObject({ isError: true, text: expect.stringContaining('Unknown argument "sesion"') })
      for (const one of names) expect(text).toContain(one)
    }
    expect((await store.session('s').messages()).messages).toHaveLength(1)
    const prompt = { name: 'resume_session', arguments: { session_id: 's', budget: '10' } }
    await expect(client.getPrompt(prompt)).rejects.toThrow('Unknown argument "budget". The arguments are session_id, token_budget.')
  })

  test('left_out of a window counts messages', async () => {
    const { store } = await opened(opener)
    const session = store.session<JsonObject>('s')
    for (let i = 0; i < 50; i++) {
      await session.append([
        { role: 'user', content: `question ${i}` },
        { role: 'assistant', content: `answer ${i}` },
      ])
    }
    const client = await clientOf(store)
    for (const name of ['get_window', 'get_context']) {
      const { messages } = await session.window({ budget: 60 })
      expect(messages.length).toBeGreaterThan(1)
      expect(await call(client, name, { session_id: 's', token_budget: 60 })).toMatchObject({ left_out: 100 - messages.length })
      expect(await call(client, name, { session_id: 's' })).toMatchObject({ left_out: 0 })
    }
  })

  test('an address that cannot be decoded is refused, and not with an error of the decoder', async () => {
    const client = await clientOf((await opened(opener)).store)
    await expect(client.readResource({ uri: 'session://%FF' })).rejects.toThrow('% escapes of UTF-8')
  })

  test('with leave to write it appends once, forks and commits', async () => {
    const { store } = await opened(opener)
    const client = await clientOf(store, { allowWrite: true })
    expect(await toolsOf(client)).toEqual([...READING, ...WRITING].sort())
    const message = { session_id: 's', content: 'note', message_id: 'n1' }
    expect(await call(client, 'append_message', message)).toEqual({ session_id: 's', message_id: 'n1', duplicate: false })
    expect(await call(client, 'append_message', message)).toMatchObject({ duplicate: true })
    const { session_id: fork } = (await call(client, 'fork_session', { session_id: 's', title: 'Fork' })) as { session_id: string }
    expect((await store.session<JsonObject>(fork).messages()).messages).toHaveLength(1)
    expect(await call(client, 'commit_session', { session_id: 's', keep: 0 })).toEqual({ status: 'accepted', archived: 1 })
    expect(await call(client, 'commit_session', { session_id: 's', keep: 0 })).toEqual({ status: 'skipped', archived: 0 })
    for (const { name, annotations, outputSchema } of (await client.listTools()).tools) {
      expect(annotations).toMatchObject({ readOnlyHint: READING.includes(name), openWorldHint: false })
      expect(outputSchema).toBeDefined()
    }
  })

  test('an event store replays what came after an event, also after a restart', async () => {
    const there = await opened(opener)
    const events = new HoldfastEventStore({ store: there.store })
    const message = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: { n: id } })
    const ids: string[] = []
    for (const id of [1, 2, 3]) ids.push(await events.storeEvent('stream/1', message(id)))
    await events.storeEvent('stream/2', message(9))
    const after = new HoldfastEventStore({ store: await there.reopen() })
    const seen: unknown[] = []
    const send = async (id: string, one: JSONRPCMessage): Promise<void> => void seen.push([id, one])
    expect(await after.replayEventsAfter(ids[0] ?? '', { send })).toBe('stream/1')
    expect(seen).toEqual([
      [ids[1], message(2)],
      [ids[2], message(3)],
    ])
    expect(await after.getStreamIdForEventId(ids[0] ?? '')).toBe('stream/1')
    await expect(after.replayEventsAfter('nonsense', { send })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

test('whoever subscribes to a session hears of changes', async () => {
  const { store } = await opened(OPENERS[0] as (typeof OPENERS)[number])
  const session = store.session<JsonObject>('s')
  await session.append({ role: 'user', content: 'a' })
  const client = await clientOf(store)
  const updated = new Promise<string>((resolve) => {
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri))
  })
  await client.subscribeResource({ uri: 'session://s' })
  await client.subscribeResource({ uri: 'session://s' })
  await session.append({ role: 'user', content: 'b' })
  expect(await updated).toBe('session://s')
  await client.unsubscribeResource({ uri: 'session://s' })
})

describe('at a server', () => {
  async function connected(app: Application, key: string): Promise<Client> {
    const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
      fetch: async (url, init) => {
        const headers = new Headers(init?.headers)
        headers.set('host', 'localhost')
        headers.set('x-api-key', key)
        return app.app.request(String(url), { ...init, headers } as RequestInit)
      },
    })
    const client = new Client({ name: 'test', version: '0' })
    // The client’s own transport does not know exact optional properties.
    await client.connect(transport as Parameters<Client['connect']>[0])
    onTestFinished(() => client.close())
    return client
  }

  test('an agent sees the space of its key, and only reads', async () => {
    const app = await Application.open()
    await app.post('/sessions/s/messages', { role: 'user', content: 'hello' })
    const client = await connected(app, app.key)
    expect(await toolsOf(client)).toEqual(READING)
    expect(await call(client, 'read_session', { session_id: 's' })).toMatchObject({ messages: [{ text: 'hello' }] })
    const other = await connected(app, await app.newKey({ space: 'other' }))
    expect(await call(other, 'list_sessions', {})).toEqual({ sessions: [], next_cursor: null })
    await expect(connected(app, 'wrong')).rejects.toThrow()
    const { token } = (await app.post('/tokens', { session_id: 's' })).result
    await expect(connected(app, token)).rejects.toThrow()
  })

  test('an agent whose key is bound to an owner sees and makes sessions of his, and no sign of others', async () => {
    const app = await Application.open({ mcpWrite: true })
    await app.post('/sessions', { session_id: 'theirs', owner: 'lee' })
    await app.post('/sessions/theirs/messages', { role: 'user', content: 'the parcel of lee' })
    const client = await connected(app, await app.newKey({ owner: 'kim', scope: 'write' }))
    expect(await call(client, 'list_sessions', {})).toEqual({ sessions: [], next_cursor: null })
    expect(await call(client, 'search_sessions', { query: 'parcel' })).toEqual({ hits: [] })
    const refused = async (tool: string, session_id: string): Promise<unknown> => {
      const words = tool === 'append_message' ? { session_id, content: 'x' } : { session_id }
      const { isError, content } = await client.callTool({ name: tool, arguments: words })
      return isError === true ? content : undefined
    }
    for (const tool of ['read_session', 'get_context', 'get_window', 'append_message', 'fork_session', 'commit_session']) {
      expect(await refused(tool, 'theirs')).toMatchObject([{ text: expect.stringContaining('There is no session "theirs".') }, {}])
    }
    // Looking at what is not there makes nothing.
    expect(await refused('read_session', 'mine')).toMatchObject([{ text: expect.stringContaining('There is no session "mine".') }, {}])
    expect((await app.get('/sessions/mine')).status).toBe(404)
    await call(client, 'append_message', { session_id: 'mine', content: 'the parcel of kim' })
    expect((await app.get('/sessions/mine')).result).toMatchObject({ owner: 'kim', message_count: 1 })
    expect(await call(client, 'read_session', { session_id: 'mine' })).toMatchObject({ messages: [{ text: 'the parcel of kim' }] })
    await expect(client.readResource({ uri: 'session://theirs' })).rejects.toThrow('There is no session "theirs".')
  })

  test('what an agent writes is written down: who, with which tool, to which session', async () => {
    const app = await Application.open({ mcpWrite: true })
    const key = await app.newKey({ scope: 'write' })
    const client = await connected(app, key)
    await call(client, 'append_message', { session_id: 's', content: 'a secret' })
    await call(client, 'read_session', { session_id: 's' })
    await call(client, 'commit_session', { session_id: 's', keep: 0 })
    await app.parts.audit.flush()
    const own = app.store.in(STORE_SPACE)
    const log = (await own.list()).sessions.find(({ id }) => id.startsWith('audit-'))?.id as string
    const deeds = (await own.session<JsonObject>(log).messages()).messages.map(({ message }) => message)
    const by = { key: key.slice(3, 19), space: 'default', session: 's', status: 200 }
    expect(deeds.filter((deed) => deed.key === by.key)).toMatchObject([
      { ...by, action: 'POST /mcp append_message' },
      { ...by, action: 'POST /mcp commit_session' },
    ])
    expect(JSON.stringify(deeds)).not.toContain('secret')
  })

  test('it writes if the server lets agents write and the key may', async () => {
    const app = await Application.open({ mcpWrite: true })
    const reader = await connected(app, await app.newKey({ scope: 'read' }))
    expect(await toolsOf(reader)).toEqual(READING)
    const writer = await connected(app, await app.newKey({ scope: 'write' }))
    await call(writer, 'append_message', { session_id: 's', content: 'noted' })
    expect(await call(reader, 'read_session', { session_id: 's' })).toMatchObject({ messages: [{ text: 'noted' }] })
  })

  test('a page of another origin, and what is no JSON, are refused', async () => {
    const app = await Application.open()
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const accept = 'application/json, text/event-stream'
    expect((await app.raw('POST', '/mcp', { body, headers: { accept, origin: 'https://evil.example' } })).status).toBe(403)
    expect((await app.raw('POST', '/mcp', { body: '{', headers: { accept } })).status).toBe(400)
    expect((await app.raw('GET', '/mcp')).status).toBe(404)
  })
})
