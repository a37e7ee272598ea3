import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import { requirePlatform } from '../platform.ts'
import { mountTmpfs } from '../processes/mount.ts'
import { linesOf, rot } from '../store/spoil.ts'
import { Cli, objectsIn } from './holdfast.ts'

const VERSION = /^\d+-[0-9a-f]{8}$/
const ID = /^[0-9a-f-]{36}$/
const anyVersion = expect.stringMatching(VERSION)

test('new creates a session, with what it was given, and exits with 4 if it exists', async () => {
  const cli = new Cli()
  const words = ['new', 'a', '--title', 'A title', '--tag', 'x', '--tag', 'y', '--owner', 'o', '--workspace', '/w']
  expect(await cli.one(...words)).toEqual({ session_id: 'a', version: anyVersion })
  expect(await cli.failure(['new', 'a'])).toMatchObject({
    status: 4,
    code: 'ALREADY_EXISTS',
    details: { outcome: 'none', retryable: false },
  })
  expect(await cli.json('list', '--owner', 'o', '--workspace', '/w', '--tag', 'y')).toEqual([
    {
      session_id: 'a',
      title: 'A title',
      message_count: 0,
      total_message_count: 0,
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
      tags: ['x', 'y'],
      parent: null,
      parent_kind: null,
      status: 'ok',
    },
  ])
})

test('new without an id makes one, and prints it', async () => {
  const cli = new Cli()
  const { status, stdout, stderr } = await cli.run(['new'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const id = stdout.trim()
  expect(id).toMatch(ID)
  expect((await cli.one('new', '--parent', id, 'child')).session_id).toBe('child')
  expect(await cli.json('list', '--parent', id)).toMatchObject([{ session_id: 'child', parent: id, parent_kind: 'child' }])
})

test('append takes the text from its words or from standard input, and tells the id and the version', async () => {
  const cli = new Cli()
  const first = await cli.one('append', 'a', 'hello')
  expect(first).toEqual({ session_id: 'a', message_id: expect.stringMatching(ID), version: anyVersion, duplicate: false })
  const piped = await cli.run(['append', 'a', '--role', 'assistant'], 'two\nlines\n')
  expect(piped).toMatchObject({ status: 0, stderr: '' })
  expect(await cli.json('show', 'a')).toEqual([
    { id: first.message_id, at: expect.any(String), archived: false, archive_id: null, message: { role: 'user', content: 'hello' } },
    expect.objectContaining({ id: piped.stdout.trim(), message: { role: 'assistant', content: 'two\nlines' } }),
  ])
})

test('append with the same message id or the same key happens once; with another body it is a conflict', async () => {
  const cli = new Cli()
  const first = await cli.one('append', 'a', 'x', '--message-id', 'm1')
  expect(await cli.one('append', 'a', 'x', '--message-id', 'm1')).toEqual({ ...first, duplicate: true })
  const keyed = await cli.one('append', 'a', 'y', '--key', 'k')
  expect(await cli.one('append', 'a', 'y', '--key', 'k')).toEqual({ ...keyed, duplicate: true })
  expect(await cli.failure(['append', 'a', 'z', '--message-id', 'm1'])).toMatchObject({ status: 4, code: 'CONFLICT' })
  expect(await cli.messageIds('a')).toEqual(['m1', keyed.message_id])
})

test('append --expect holds only while the session has that version', async () => {
  const cli = new Cli()
  const { version } = await cli.one('append', 'a', 'x')
  await cli.one('append', 'a', 'y', '--expect', String(version))
  expect(await cli.failure(['append', 'a', 'z', '--expect', String(version)])).toMatchObject({ status: 4, code: 'CONFLICT' })
  expect(await cli.messageIds('a')).toHaveLength(2)
})

test('show prints the newest with --limit, those before a message with --before, oldest first in any case', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2', 'm3', 'm4')
  const ids = async (...words: string[]) => (await cli.json('show', 'a', ...words)).map(({ id }) => id)
  expect(await ids()).toEqual(['m1', 'm2', 'm3', 'm4'])
  expect(await ids('--limit', '2')).toEqual(['m3', 'm4'])
  expect(await ids('--before', 'm4')).toEqual(['m1', 'm2', 'm3'])
  expect(await ids('--before', 'm4', '--limit', '1', '--archived')).toEqual(['m3'])
  expect(await ids('--limit', '0')).toEqual([])
  expect(await cli.failure(['show', 'a', '--before', 'nope'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
})

test('list pages with --limit and --cursor, sorts, and finds words in titles', async () => {
  const cli = new Cli()
  await cli.prepare(async (store) => {
    await store.create<JsonObject>({ id: 'a', title: 'Zebra' })
    await store.create<JsonObject>({ id: 'b', title: 'Apple pie' })
    await store.create<JsonObject>({ id: 'c', title: 'Mango' })
  })
  const ids = async (...words: string[]) => (await cli.json('list', ...words)).map(({ session_id }) => session_id)
  expect(await ids('--order', 'title')).toEqual(['b', 'c', 'a'])
  expect(await ids('--query', 'PIE apple')).toEqual(['b'])
  const page = await cli.run(['list', '--json', '--limit', '2'])
  expect(objectsIn(page.stdout).map(({ session_id }) => session_id)).toEqual(['c', 'b'])
  const [{ next_cursor: cursor } = {}] = objectsIn(page.stderr)
  expect(await ids('--limit', '2', '--cursor', String(cursor))).toEqual(['a'])
})

test('title and tag change what a session is called, and a tag to remove is not taken for an option', async () => {
  const cli = new Cli()
  const { version } = await cli.one('new', 'a', '--tag', 'b')
  const titled = await cli.one('title', 'a', 'New title')
  expect(titled).toEqual({ session_id: 'a', version: anyVersion })
  expect(titled.version).not.toBe(version)
  expect(await cli.one('tag', 'a', '+x', '-b', '+y', '-q')).toEqual({ session_id: 'a', version: anyVersion })
  expect(await cli.run(['tag', 'a', '-y', '--json'])).toMatchObject({ status: 0, stdout: expect.stringContaining('"session_id":"a"') })
  expect(await cli.one('list')).toMatchObject({ title: 'New title', tags: ['x'] })
})

test('snapshot, revert and undo move along the branches; undo with nothing to undo is a failed condition', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  expect(await cli.failure(['undo', 'a'])).toMatchObject({ status: 4, code: 'FAILED_PRECONDITION' })
  expect(await cli.one('snapshot', 'a', 'before')).toEqual({ session_id: 'a', version: anyVersion })
  await cli.prepareMessages('a', 'm2')
  expect(await cli.one('revert', 'a', 'before')).toEqual({ session_id: 'a', version: anyVersion })
  expect(await cli.messageIds('a')).toEqual(['m1'])
  expect(await cli.one('undo', 'a')).toEqual({ session_id: 'a', version: anyVersion })
  expect(await cli.messageIds('a')).toEqual(['m1', 'm2'])
  expect(await cli.failure(['revert', 'a', 'nowhere'])).toMatchObject({
    status: 3,
    code: 'NOT_FOUND',
    message: expect.stringContaining('neither a snapshot nor a message of "a". `holdfast show`'),
  })
})

test('fork shares the past up to a message, and tree shows the family, one line each', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  expect(await cli.one('fork', 'a', '--at', 'm1', '--as', 'b')).toEqual({ session_id: 'b', version: anyVersion, parent: 'a' })
  expect(await cli.messageIds('b')).toEqual(['m1'])
  await cli.prepare((store) => store.create<JsonObject>({ id: 'c', parent: 'b' }))
  expect(await cli.json('tree', 'a')).toMatchObject([
    { session_id: 'a', version: anyVersion, parent: null, kind: 'root', status: 'ok', depth: 0 },
    { session_id: 'b', version: anyVersion, parent: 'a', kind: 'fork', message_id: 'm1', depth: 1 },
    { session_id: 'c', version: anyVersion, parent: 'b', kind: 'child', message_id: null, depth: 2 },
  ])
  expect((await cli.run(['tree', 'a'])).stdout).toBe('a\n└─ b  (fork)\n   └─ c  (child)\n')
  expect(await cli.failure(['fork', 'a', '--as', 'b'])).toMatchObject({ status: 4, code: 'ALREADY_EXISTS' })
})

test('share tells a token once, shares lists it without, unshare revokes it', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const shared = await cli.one('share', 'a', '--expires', '7d')
  expect(shared).toEqual({
    session_id: 'a',
    version: anyVersion,
    share_id: expect.stringMatching(ID),
    token: expect.stringMatching(/^[0-9a-f]{64}$/),
    expires_at: expect.any(String),
  })
  const days = (Date.parse(String(shared.expires_at)) - Date.now()) / 86_400_000
  expect(days).toBeCloseTo(7, 2)
  const { share_id, expires_at } = shared
  expect(await cli.json('shares', 'a')).toEqual([
    { session_id: 'a', share_id, granted_at: expect.any(String), expires_at, message_count: 1 },
  ])
  expect(await cli.one('unshare', 'a', String(share_id))).toEqual({ session_id: 'a', version: anyVersion })
  expect(await cli.json('shares', 'a')).toEqual([])
  expect(await cli.failure(['unshare', 'a', String(share_id)])).toMatchObject({ status: 3 })
})

test('a deleted session takes no message, is listed among the deleted, and can be restored', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  expect(await cli.one('delete', 'a')).toEqual({ session_id: 'a', version: anyVersion })
  expect(await cli.failure(['show', 'a'])).toMatchObject({ status: 3 })
  expect(await cli.failure(['append', 'a', 'late'])).toMatchObject({ status: 4, code: 'CONFLICT' })
  expect(await cli.json('list')).toEqual([])
  expect(await cli.json('list', '--deleted')).toMatchObject([{ session_id: 'a', status: 'deleted' }])
  expect(await cli.one('restore', 'a')).toEqual({ session_id: 'a', version: anyVersion })
  expect(await cli.messageIds('a')).toEqual(['m1'])
})

test('purge destroys what was deleted long enough ago, and nothing in a dry run', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  await cli.prepare(async (store) => store.session<JsonObject>('a').delete())
  expect(await cli.json('purge')).toEqual([])
  expect(await cli.json('purge', '--older-than', '0s', '--dry-run')).toMatchObject([{ session_id: 'a', action: 'purged', dry_run: true }])
  expect(await cli.one('purge', '--older-than', '0s')).toEqual({
    session_id: 'a',
    deleted_at: expect.any(String),
    action: 'purged',
    freed_bytes: expect.any(Number),
    dry_run: false,
  })
  expect(await cli.failure(['restore', 'a'])).toMatchObject({ status: 3 })
})

test('usage of a session and of all sessions', async () => {
  const cli = new Cli()
  await cli.prepare(async (store) => {
    for (const id of ['a', 'b']) {
      const session = await store.create<JsonObject>({ id })
      await session.recordUsage({ model: 'm', inputTokens: 10, outputTokens: 3 })
    }
  })
  expect(await cli.json('usage', 'a')).toEqual([{ session_id: 'a', model: 'm', calls: 1, input_tokens: 10, output_tokens: 3 }])
  expect(await cli.json('usage')).toEqual([{ model: 'm', calls: 2, input_tokens: 20, output_tokens: 6 }])
})

test.each([
  ['show', 'nope'],
  ['tag', 'nope', '+x'],
  ['revert', 'nope', 'x'],
  ['fork', 'nope'],
  ['delete', 'nope'],
  ['restore', 'nope'],
])('%s of a session that is not there exits with 3, and tells which one', async (...words) => {
  const cli = new Cli()
  await cli.prepareMessages('other', 'm1')
  expect(await cli.failure(words)).toMatchObject({
    status: 3,
    code: 'NOT_FOUND',
    message: expect.stringContaining('There is no session "nope".'),
  })
})

test('a damaged session is shown as far as it can be read, with a warning and exit code 0', async () => {
  const cli = new Cli()
  for (const id of ['m1', 'm2', 'm3']) await cli.prepareMessages('a', id)
  const sessions = join(cli.store, 'sessions')
  const segment = join(sessions, readdirSync(sessions, { recursive: true }).find((name) => String(name).endsWith('.jsonl')) as string)
  writeFileSync(segment, readFileSync(segment, 'utf8').replace('"content":"m2"', '"content":"mX"'))

  const shown = await cli.run(['show', 'a', '--json'])
  expect(shown.status).toBe(0)
  expect(objectsIn(shown.stdout).map(({ id }) => id)).toEqual(['m1', 'm3'])
  expect(objectsIn(shown.stderr)).toMatchObject([
    { warning: { message: expect.stringContaining('1 message'), details: { damage: [{ count: 1, reason: 'rotten' }] } } },
  ])
  const listed = await cli.run(['list', '--json'])
  expect(listed.status).toBe(0)
  expect(objectsIn(listed.stdout)).toMatchObject([{ session_id: 'a', status: 'damaged' }])
  expect(listed.stderr).toContain('holdfast doctor')

  const examined = await cli.run(['doctor', 'a', '--json'])
  expect({ status: examined.status, stderr: examined.stderr }).toEqual({ status: 5, stderr: '' })
  const findings = objectsIn(examined.stdout)
  expect(findings.at(-1)).toEqual({ totals: { sessions: 1, damage: findings.length - 1, notes: 0 } })
  expect(findings).toContainEqual({
    session_id: 'a',
    space: 'default',
    segment: 0,
    offset: expect.any(Number),
    length: expect.any(Number),
    kind: 'rotten',
    severity: 'damage',
    action: expect.any(String),
  })
})

test.each(['m0', 'm1', 'm3'])('that %s cannot be read is told, although it stands in a segment that was sealed long ago', async (lost) => {
  const cli = new Cli()
  for (const id of ['m0', 'm1', 'm2', 'm3', 'm4']) {
    await cli.prepare(async (store) => store.session<JsonObject>('a').append({ id, content: id, more: 'x'.repeat(400_000) }))
  }
  const sessions = join(cli.store, 'sessions')
  const names = readdirSync(sessions, { recursive: true }).filter((name) => String(name).endsWith('.jsonl'))
  expect(names.length).toBeGreaterThan(1)
  for (const name of names) {
    const segment = join(sessions, String(name))
    writeFileSync(segment, readFileSync(segment, 'utf8').replace(`"content":"${lost}"`, '"content":"??"'))
  }
  const { status, stderr } = await cli.run(['show', 'a'])
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringMatching(/^warning: 1 message is missing .*in "a"/) })
})

test('doctor exits with 0 where nothing is damaged, and with 3 where there is no such session', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  expect(await cli.json('doctor')).toEqual([{ totals: { sessions: 1, damage: 0, notes: 0 } }])
  expect(await cli.failure(['doctor', 'nope'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
})

test('reading where there is no store says so and makes none', async () => {
  const cli = new Cli()
  expect(await cli.run(['list'])).toMatchObject({ status: 0, stdout: '', stderr: expect.stringContaining('There is no store') })
  expect((await cli.run(['show', 'a'])).status).toBe(3)
  expect(readdirSync(cli.directory)).toEqual([])
})

test('spaces do not see each other', async () => {
  const cli = new Cli()
  await cli.one('--space', 'one', 'append', 'a', 'hi')
  expect(await cli.json('list', '--space', 'one')).toHaveLength(1)
  expect(await cli.json('list')).toEqual([])
})

const tmpfs = requirePlatform('tmpfs')
test.skipIf(!tmpfs.available)('a full disk exits with 6, names the line, and what was acknowledged stays', async () => {
  const cli = new Cli()
  const mount = mountTmpfs(8)
  try {
    const words = ['--store', join(mount.directory, 'store'), '--json']
    const lines = Array.from({ length: 100 }, (_, i) => `${JSON.stringify({ id: `m${i}`, content: 'x'.repeat(100_000) })}\n`).join('')
    const { status, stdout, stderr } = await cli.run([...words, 'append', 'a', '--jsonl', '-'], lines)
    const acknowledged = objectsIn(stdout).map(({ message_id }) => message_id)
    expect(status).toBe(6)
    expect(objectsIn(stderr)).toMatchObject([{ error: { code: 'NO_SPACE', details: { line: acknowledged.length + 1, outcome: 'none' } } }])
    const shown = await cli.run([...words, 'show', 'a'])
    expect(objectsIn(shown.stdout).map(({ id }) => id)).toEqual(acknowledged)
    rmSync(join(mount.directory, 'store'), { recursive: true })
  } finally {
    mount.dispose()
  }
})

test('erase --owner exits with 1 and says what to do if the owner of a session cannot be known', async () => {
  const cli = new Cli()
  await cli.one('new', 'hurt', '--owner', 'ann')
  await cli.one('append', 'hurt', 'Hello')
  for (const line of (await linesOf(cli.store, 'hurt')).filter(({ type }) => type === 'session.created')) await rot(line)
  const { status, stdout, stderr } = await cli.run(['erase', '--owner', 'ann'])
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('1 could not be') })
  expect(stdout).toContain('Restore the session from a backup')
})

test('erase destroys a message, or everything of an owner', async () => {
  const cli = new Cli()
  await cli.one('new', 'a', '--owner', 'ann')
  await cli.one('append', 'a', 'my number is 555-0123', '--message-id', 'm')
  expect(await cli.one('erase', 'a', 'm')).toEqual({ session_id: 'a', message_id: 'm', version: anyVersion, duplicate: false })
  expect(await cli.one('show', 'a')).toMatchObject({ id: 'm', message: { role: 'user', content: '[erased]' } })
  expect(await cli.failure(['erase', 'a', 'none'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
  expect((await cli.run(['erase', 'a'])).status).toBe(2)
  expect(await cli.one('erase', '--owner', 'ann', '--dry-run')).toMatchObject({ session_id: 'a', action: 'purged', dry_run: true })
  expect(await cli.one('erase', '--owner', 'ann')).toMatchObject({ session_id: 'a', action: 'purged', dry_run: false })
  expect(await cli.failure(['show', 'a'])).toMatchObject({ status: 3 })
})
