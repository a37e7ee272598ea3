import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  deleteSession,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  InMemorySessionStore,
  importSessionToStore,
  listSessions,
  renameSession,
  type SessionStore,
  type SessionStoreEntry,
  tagSession,
} from '@anthropic-ai/claude-agent-sdk'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { HoldfastSessionStore } from '../../src/adapters/claude-agent/index.ts'
import { OPENERS, opened } from './openers.ts'

const SESSION = '0198a1b2-0000-4000-8000-000000000001'
const KEY = { projectKey: '-home-kim-project', sessionId: SESSION }

function said(n: number, text: string, role: 'user' | 'assistant' = 'user'): SessionStoreEntry {
  return {
    type: role,
    uuid: `0198a1b2-0000-4000-8000-0000000001${String(n).padStart(2, '0')}`,
    parentUuid: n === 0 ? null : `0198a1b2-0000-4000-8000-0000000001${String(n - 1).padStart(2, '0')}`,
    sessionId: SESSION,
    timestamp: `2026-01-01T00:00:${String(n).padStart(2, '0')}.000Z`,
    cwd: '/home/kim/project',
    message: { role, content: text },
  }
}

const title = (text: string): SessionStoreEntry => ({ type: 'custom-title', customTitle: text, sessionId: SESSION })
const LINES = [
  title('first'),
  said(0, 'hi'),
  said(1, 'hello', 'assistant'),
  { type: 'mode', mode: 'plan' },
  title('second'),
  said(2, 'more'),
]

describe.each(OPENERS)('on $name', (opener) => {
  test('lines come back in their order, and what is sent again is there once', async () => {
    const there = await opened(opener)
    const store = new HoldfastSessionStore({ store: there.store })
    expect(await store.load(KEY)).toBeNull()
    await store.append(KEY, [])
    expect(await store.load(KEY)).toBeNull()
    await store.append(KEY, LINES.slice(0, 3))
    await store.append(KEY, LINES.slice(3))
    expect(await store.load(KEY)).toEqual(LINES)
    // All of a batch again, a part of it with something new, and a line that has changed.
    await store.append(KEY, [said(0, 'hi'), said(1, 'hello', 'assistant')])
    await store.append(KEY, [said(2, 'more'), said(3, 'new'), said(3, 'new')])
    await store.append(KEY, [said(0, 'HI')])
    const after = new HoldfastSessionStore({ store: await there.reopen() })
    expect(await after.load(KEY)).toEqual([...LINES, said(3, 'new')])
    const [{ id } = { id: '' }] = (await there.store.list({ tag: 'claude-agent' })).sessions
    expect((await there.store.session(id).window({ format: 'openai' })).messages).toMatchObject([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'hello' },
      { role: 'user', content: 'more' },
      { role: 'user', content: 'new' },
    ])
  })

  test('two processes append to one transcript: every line once, and the summary knows all of them', async () => {
    const there = await opened(opener)
    const stores = [there.store, await there.reopen()].map((store) => new HoldfastSessionStore({ store }))
    await Promise.all(Array.from({ length: 12 }, (_, n) => stores[n % 2]?.append(KEY, [said(n, `line ${n}`), title(`title ${n}`)])))
    const loaded = (await stores[0]?.load(KEY)) ?? []
    expect(loaded).toHaveLength(24)
    expect(new Set(loaded.map((line) => JSON.stringify(line))).size).toBe(24)
    // A title stands behind the line that it came with.
    for (const [index, line] of loaded.entries()) {
      if (line.type === 'user') expect(loaded[index + 1]?.customTitle).toBe(`title ${Number(line.uuid?.slice(-2))}`)
    }
    const last = loaded.at(-1)?.customTitle
    expect(JSON.stringify(await stores[1]?.listSessionSummaries(KEY.projectKey))).toContain(String(last))
  })

  test('transcripts of sub-agents are found, and go with the session', async () => {
    const { store } = await opened(opener)
    const sessions = new HoldfastSessionStore({ store })
    await sessions.append(KEY, [said(0, 'hi')])
    for (const subpath of ['subagents/agent-a', 'subagents/agent-b']) await sessions.append({ ...KEY, subpath }, [said(0, subpath)])
    await sessions.append({ ...KEY, projectKey: 'other' }, [said(0, 'elsewhere')])
    expect((await sessions.listSubkeys(KEY)).sort()).toEqual(['subagents/agent-a', 'subagents/agent-b'])
    expect(await sessions.listSessions(KEY.projectKey)).toMatchObject([{ sessionId: SESSION, mtime: expect.any(Number) }])
    await sessions.delete(KEY)
    await sessions.delete(KEY)
    expect(await sessions.load(KEY)).toBeNull()
    expect(await sessions.listSubkeys(KEY)).toEqual([])
    expect(await sessions.load({ ...KEY, projectKey: 'other' })).toHaveLength(1)
    await sessions.append(KEY, [said(0, 'anew')])
    expect(await sessions.load(KEY)).toEqual([said(0, 'anew')])
  })

  test('the SDK’s own functions do with it what they do with the SDK’s store', async () => {
    const home = await mkdtemp(join(tmpdir(), 'holdfast-claude-'))
    onTestFinished(() => rm(home, { recursive: true }))
    vi.stubEnv('CLAUDE_CONFIG_DIR', home)
    const dir = join(home, 'project')
    await mkdir(dir)
    const project = join(home, 'projects', dir.replace(/[^a-zA-Z0-9]/g, '-'))
    await mkdir(project, { recursive: true })
    await writeFile(join(project, `${SESSION}.jsonl`), LINES.map((line) => `${JSON.stringify({ ...line, cwd: dir })}\n`).join(''))
    const { store } = await opened(opener)
    const lives: unknown[] = []
    for (const sessionStore of [new HoldfastSessionStore({ store }), new InMemorySessionStore()]) lives.push(await life(sessionStore, dir))
    expect(lives[0]).toEqual(lives[1])
  })
})

/** Import, list, read, rename, tag, fork, delete; everything that is told, but for what is new each time. */
async function life(sessionStore: SessionStore, dir: string): Promise<unknown> {
  const options = { dir, sessionStore }
  await importSessionToStore(SESSION, sessionStore, { dir, batchSize: 2 })
  await importSessionToStore(SESSION, sessionStore, { dir, batchSize: 3 }).catch(() => undefined)
  const listed = (await listSessions(options)).map(({ lastModified: _, fileSize: __, ...info }) => info)
  await renameSession(SESSION, 'Renamed', options)
  await tagSession(SESSION, 'good', options)
  const { lastModified: _, fileSize: __, ...info } = (await getSessionInfo(SESSION, options)) ?? ({} as never)
  const messages = await getSessionMessages(SESSION, options)
  const { sessionId: fork } = await forkSession(SESSION, { ...options, title: 'Fork' })
  const forked = (await getSessionMessages(fork, options)).map(({ message }) => message)
  await deleteSession(SESSION, options)
  const left = (await listSessions(options)).map(({ customTitle }) => customTitle)
  return { listed, info, messages, forked, left }
}
