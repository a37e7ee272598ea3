/** What is exported is all there is: imported elsewhere and exported again, it is the same, byte for byte. */
import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesSource } from '../../src/transfer/bytes.ts'
import type { ExportOptions } from '../../src/transfer/export/export.ts'
import { exportFrom } from '../../src/transfer/export/export.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import { StubModel } from '../commit/stub-model.ts'
import { FIXTURES, jsonl, sourceOf } from './fixtures.ts'

async function exported(store: Store, options: ExportOptions = {}): Promise<string> {
  let text = ''
  for await (const piece of exportFrom(store, options)) text += piece
  return text
}

/** A store with what is in an export, and what was told of it. */
async function imported(text: string): Promise<Store> {
  const store = await openStore('memory:')
  for await (const { damage, note } of importInto(store, [bytesSource('/a/export.jsonl', Buffer.from(text))])) {
    expect(damage).toEqual([])
    expect(note).toBeNull()
  }
  return store
}

/** A session with memories, some of which no longer hold, and an archive that failed. */
async function teach(store: Store): Promise<void> {
  const learned = store.session('learned')
  for (const content of ['I live in Bergen.', 'I prefer tea.']) {
    await learned.append([
      { role: 'user', content },
      { role: 'assistant', content: 'Noted.' },
    ])
    await learned.commit()
  }
  await new Worker(store, { model: new StubModel() }).drain()
  await learned.retractMemories(1)
  await learned.append({ role: 'user', content: 'fails' })
  await learned.commit()
  await new Worker(store, { model: new StubModel({ manual: ({ fail }) => fail(new Error('no')) }), attempts: 1 }).drain()
}

/** A store in which everything has happened that can. */
async function lively(): Promise<Store> {
  const store = await openStore('memory:')
  await teach(store)
  const a = await store.create({ id: 'a', title: 'First', tags: ['x'], metadata: { n: 1 } })
  await a.append([
    { role: 'user', content: 'one', id: 'm1' },
    { role: 'assistant', content: 'two' },
  ])
  await a.append({ role: 'user', content: 'three \ud800' }, { key: 'k' })
  await a.snapshot('early')
  await a.commit({ keep: 1 })
  await new Worker(store).drain()
  await a.replace('m1', { role: 'user', content: 'uno' })
  await a.replace('m1', { role: 'user', content: 'one' })
  const fork = await a.fork({ id: 'f', title: 'Fork' })
  await fork.append({ role: 'user', content: 'forked' })
  await a.replace('m1', { role: 'user', content: 'behind the fork' })
  await a.append({ role: 'assistant', content: 'four', id: 'm4' })
  await a.revert({ snapshot: 'early' })
  await a.undo()
  await a.append({ role: 'user', content: 'instead' }, { parent: 'm1' })
  await a.describe({ title: null, addTags: ['y'], metadata: { n: null, m: [2] } })
  await a.putEntries([{ channel: 'c', key: 'k', value: { deep: [1] } }])
  await a.putEntries([{ channel: 'c', key: 'k' }])
  await a.recordUsage({ model: 'm', inputTokens: 3, outputTokens: 4 })
  await a.recordUsage({ model: 'm', inputTokens: 3, outputTokens: 4 })
  await a.share()
  const { share } = await a.share({ expiresAt: new Date('2100-01-01') })
  await a.unshare(share)
  await a.share({ expiresAt: new Date('2100-01-01'), redact: true })
  await a.describe({ owner: 'ann', workspace: '/home/ann', policies: { autoCommit: { tokens: 1000 } } })
  await a.commit()
  const child = await fork.child({ id: 'c' })
  await child.append({ role: 'user', content: 'small' })
  await fork.revert({ message: 'm1' })
  await fork.append({ role: 'user', content: 'from the past' })
  await fork.commit()
  const [pending] = await store.tasks({ session: 'f' })
  await (await store.task(pending?.id as string)).cancel()
  const gone = await store.create({ id: 'gone' })
  await gone.append({ role: 'user', content: 'deleted' })
  await gone.delete()
  return store
}

test('a store in which everything has happened is the same behind an export and an import', async () => {
  const text = await exported(await lively())
  const again = await imported(text)
  expect(await exported(again)).toBe(text)
  const [a, f] = [again.session('a'), again.session('f')]
  expect((await a.archives()).map(({ status }) => status)).toEqual(['completed', 'pending'])
  expect((await f.info()).parent).toMatchObject({ session: 'a', kind: 'fork' })
  expect((await f.message('m1'))?.message.content).toBe('one')
  expect((await a.message('m1'))?.message.content).toBe('behind the fork')
  expect((await a.revisions('m1')).revisions).toHaveLength(4)
  expect((await a.info()).policies).toEqual({ autoCommit: { tokens: 1000 } })
  expect((await a.info()).shares).toHaveLength(2)
  const learned = await again.session('learned').archives()
  expect(learned.map(({ status, memories }) => [status, memories.length > 0])).toEqual([
    ['completed', false],
    ['completed', true],
    ['failed', false],
  ])
  expect((await again.memories()).length).toBeGreaterThan(0)
  expect((await again.list()).sessions.map(({ id }) => id)).not.toContain('gone')
})

test('importing an export again, also into the store that it comes from, changes nothing', async () => {
  const store = await lively()
  const text = await exported(store)
  const again = await imported(text)
  for (const one of [store, again]) {
    for await (const report of importInto(one, [bytesSource('/b/other.jsonl', Buffer.from(`${text}\n`))])) expect(report.messages).toBe(0)
    expect(await exported(one)).toBe(text)
  }
})

test('what was imported from other programs survives an export', async () => {
  const store = await openStore('memory:')
  for await (const _ of importInto(
    store,
    FIXTURES.map((fixture) => sourceOf(fixture)),
  ));
  const text = await exported(store)
  expect(await exported(await imported(text))).toBe(text)
})

test('a fork without its parent takes its past along', async () => {
  const again = await imported(await exported(await lively(), { session: 'f' }))
  const messages = (await again.session('f').messages({ archived: true })).messages.map(({ message }) => message.content)
  expect(messages).toEqual(['one', 'from the past'])
  expect((await again.list()).sessions.map(({ id }) => id)).toEqual(['f'])
})

test('a tree has the forks and children of a session, and nothing else', async () => {
  const store = await lively()
  await store.session('other').append({ role: 'user', content: 'x' })
  const again = await imported(await exported(store, { session: 'a', tree: true }))
  expect((await again.list()).sessions.map(({ id }) => id).sort()).toEqual(['a', 'c', 'f'])
})

test('cut off anywhere, an export gives what is whole, and says that something is missing', async () => {
  const text = await exported(await lively(), { session: 'c' })
  const lines = text.trimEnd().split('\n')
  const store = await openStore('memory:')
  const cut = `${lines.slice(0, -1).join('\n')}\n`
  const reports = []
  for await (const report of importInto(store, [bytesSource('/a/x.jsonl', Buffer.from(cut))])) reports.push(report)
  expect(reports).toMatchObject([{ session: 'c', messages: 1, damaged: 1, damage: [{ reason: 'Lines of this session are missing.' }] }])
})

const KEY = `sk-${'ant'}-api03-${'Qz7Rk2LmX0pWvT5y'.repeat(3)}`

test('keys are taken out of every format', async () => {
  const store = await openStore('memory:')
  const said = { role: 'user', content: `my key is ${KEY}, use postgres://me:hunter2@db/x` }
  await store.session('s').append([said, { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: { token: KEY } }] }])
  for (const format of ['jsonl', 'markdown', 'html', 'openai', 'anthropic'] as const) {
    expect(await exported(store, { format })).toContain(KEY)
    const clean = await exported(store, { format, redact: true })
    expect(clean).not.toContain(KEY)
    expect(clean).not.toContain('hunter2')
    expect(clean).toMatch(/\[redacted anthropic key [0-9a-f]{12}\]/)
  }
})

test('a page of html runs and loads nothing, whatever was said', async () => {
  const store = await openStore('memory:')
  const session = await store.create({ id: 's', title: '<script>alert(1)</script>' })
  await session.append({ role: 'user', content: '<img src=x onerror=alert(1)> "quoted"', id: '"><script>' })
  const page = await exported(store, { format: 'html' })
  expect(page).not.toMatch(/<script|<img/)
  expect(page).toContain("default-src 'none'")
})

test('markdown fences what tools gave, whatever it has inside', async () => {
  const store = await openStore('memory:')
  await store.session('s').append([
    { role: 'assistant', content: 'Look:', tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 't', content: 'a ``` b' },
  ])
  expect(await exported(store, { format: 'markdown' })).toContain('````\na ``` b\n````')
})

test('bytes that are too many, or become too many, are refused, and nothing of them is kept', async () => {
  expect(() => bytesSource('x', Buffer.alloc(11), { bytes: 10 })).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }))
  const store = await openStore('memory:')
  const bomb = gzipSync(jsonl(...Array.from({ length: 1000 }, () => ({ role: 'user', content: 'the same again' }))))
  const told = importInto(store, [bytesSource('x.jsonl', bomb, { decompressedBytes: 10_000 })])
  await expect(told.next()).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  expect((await store.list()).sessions).toEqual([])
})

test('a compressed log that is cut off or spoiled gives what comes out of it, and says so', async () => {
  const lines = Array.from({ length: 5000 }, (_, i) => ({ role: 'user', content: `${i} ${hash('sha256', String(i), 'hex')}` }))
  const whole = gzipSync(jsonl(...lines))
  const middle = Math.floor(whole.length / 2)
  const spoiled = Buffer.from(whole).fill(0xff, middle, middle + 100)
  for (const bytes of [whole.subarray(0, middle), spoiled]) {
    const store = await openStore('memory:')
    for await (const { messages, damage } of importInto(store, [bytesSource('/a/x.jsonl.gz', bytes)])) {
      expect(messages).toBeGreaterThan(2000)
      expect(damage[0]?.reason).toContain('decompressed only in part')
    }
  }
})
