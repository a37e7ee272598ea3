/** `backup` and `restore-backup`. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Cli, objectsIn } from './holdfast.ts'

function segmentsIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.startsWith('sessions') && name.endsWith('.jsonl'),
  )
}

test('a store comes back from its backup, with everything that was in it', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  await cli.prepare(async (store) => (await store.session('a').fork({ id: 'f' })).append({ role: 'user', content: 'x' }))
  const backup = join(cli.directory, 'backup')
  expect(await cli.one('backup', backup)).toMatchObject({ sessions: 2, differing: [], damaged: 0 })
  const other = new Cli()
  await other.one('restore-backup', backup)
  for (const id of ['a', 'f'])
    expect((await other.run(['export', id, '--tree'])).stdout).toBe((await cli.run(['export', id, '--tree'])).stdout)
  expect((await other.run(['doctor'])).status).toBe(0)
  expect(await other.failure(['restore-backup', backup])).toMatchObject({ status: 4, code: 'CONFLICT' })
})

test('a second backup copies what is new, and half a line of somebody who writes is not new', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const backup = join(cli.directory, 'backup')
  expect((await cli.run(['backup', backup])).stderr).toContain('1 segment copied, 0 unchanged; 1 session is in')
  expect((await cli.run(['backup', backup])).stderr).toContain('0 segments copied, 1 unchanged')
  expect(await cli.one('backup', backup)).toMatchObject({ segments: 0, bytes: 0 })
  const [segment] = segmentsIn(cli.store)
  appendFileSync(join(cli.store, segment as string), ' \n{"v":1,"id"')
  await cli.one('backup', backup)
  const kept = readFileSync(join(backup, segment as string), 'utf8')
  expect(kept.endsWith('\n')).toBe(true)
  expect(kept).not.toContain('{"v":1,"id"\n')
  await cli.run(['append', 'a', 'more'])
  expect(await cli.one('backup', backup)).toMatchObject({ segments: 1, differing: [] })
})

test('a store that has rotted does not spoil its backup', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  const backup = join(cli.directory, 'backup')
  await cli.one('backup', backup)
  const [segment] = segmentsIn(cli.store) as [string]
  const good = readFileSync(join(backup, segment))
  const bytes = readFileSync(join(cli.store, segment))
  bytes[bytes.indexOf('m2')] = 0x58
  writeFileSync(join(cli.store, segment), bytes)
  const { status, stderr } = await cli.run(['backup', backup])
  expect(status).toBe(5)
  expect(stderr).toContain('The backup keeps its own')
  expect(readFileSync(join(backup, segment)).equals(good)).toBe(true)
})

test('there is nothing to back up where no store is', async () => {
  const cli = new Cli()
  expect(await cli.failure(['backup', join(cli.directory, 'backup')])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
  expect(await cli.failure(['restore-backup', join(cli.directory, 'backup')])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
})

test('restore-backup --session brings one session back and leaves the others as they are', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  await cli.prepareMessages('b', 'm1')
  const backup = join(cli.directory, 'backup')
  await cli.one('backup', backup)
  await cli.prepareMessages('b', 'm2')
  const path = segmentsIn(cli.store).find((name) => name.includes('/a-')) as string
  const original = readFileSync(join(cli.store, path))
  truncateSync(join(cli.store, path), original.length - 50)
  const fields = { session_id: 'a', segments: 1, restored_bytes: 50, repaired_lines: 0, repeated_lines: 0, kept_erased: 0 }
  expect(await cli.one('restore-backup', backup, '--session', 'a', '--dry-run')).toMatchObject({ ...fields, status: 'ok', dry_run: true })
  expect(readFileSync(join(cli.store, path)).length).toBe(original.length - 50)
  expect(await cli.one('restore-backup', backup, '--session', 'a')).toEqual({ ...fields, status: 'ok' })
  expect(readFileSync(join(cli.store, path)).equals(original)).toBe(true)
  expect((await cli.json('show', 'b')).length).toBe(2)
  expect(await cli.one('restore-backup', backup, '--session', 'a')).toEqual({ ...fields, restored_bytes: 0, status: 'ok' })
  rmSync(join(cli.store, path))
  const { stderr } = await cli.run(['restore-backup', backup, '--session', 'a'])
  expect(stderr).toContain(`${original.length} bytes restored`)
  expect((await cli.json('list')).map(({ session_id, status, message_count }) => [session_id, status, message_count]).sort()).toEqual([
    ['a', 'ok', 2],
    ['b', 'ok', 2],
  ])
})

test('restore-backup --session names what stays damaged, and the origin of a fork', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  await cli.prepare(async (store) => (await store.session('a').fork({ id: 'f' })).append({ role: 'user', content: 'x' }))
  const path = segmentsIn(cli.store).find((name) => name.includes('/a-')) as string
  const bytes = readFileSync(join(cli.store, path))
  bytes[bytes.indexOf('m2')] = 0x58
  writeFileSync(join(cli.store, path), bytes)
  const backup = join(cli.directory, 'backup')
  await cli.run(['backup', backup])
  const own = await cli.run(['restore-backup', backup, '--session', 'a'])
  expect(own.stderr).toContain('holdfast accept-damage a')
  const fork = await cli.run(['--json', 'restore-backup', backup, '--session', 'f'])
  expect(JSON.parse(fork.stdout)).toMatchObject({ session_id: 'f', origins: [{ session_id: 'a', status: 'damaged' }] })
  expect(fork.stderr).toContain('Restore that session too')
})

test('restore-backup --session says how many lines it repairs, and which it leaves because they were appended again', async () => {
  const cli = new Cli()
  for (const id of ['r1', 'r2', 'r3']) await cli.prepareMessages('rot', id)
  const backup = join(cli.directory, 'backup')
  await cli.one('backup', backup)
  const path = join(cli.store, segmentsIn(cli.store)[0] as string)
  const rot = (text: string): void => {
    const bytes = readFileSync(path)
    bytes[bytes.indexOf(text)] = 0x58
    writeFileSync(path, bytes)
  }
  rot('"content":"r1"')
  const dry = await cli.run(['restore-backup', backup, '--session', 'rot', '--dry-run'])
  expect(dry.stderr).toContain('rot: 0 bytes are missing, 1 damaged line can be repaired. The session would be whole.')
  expect((await cli.run(['restore-backup', backup, '--session', 'rot'])).stderr).toContain('0 bytes restored, 1 damaged line repaired.')
  rot('"content":"r2"')
  await cli.run(['append', 'rot', 'r2', '--message-id', 'r2'])
  const left = await cli.run(['--json', 'restore-backup', backup, '--session', 'rot'])
  expect(JSON.parse(left.stdout)).toMatchObject({ repaired_lines: 0, repeated_lines: 1, status: 'damaged' })
  const again = await cli.run(['restore-backup', backup, '--session', 'rot', '--dry-run'])
  expect(again.stderr).toContain('1 damaged line stays damaged: later records of the session have the same message ids or operation keys.')
  expect(again.stderr).toContain('would still be damaged')
  const shown = await cli.run(['--json', 'show', 'rot'])
  expect(objectsIn(shown.stdout).map(({ id }) => id)).toEqual(['r1', 'r3', 'r2'])
})

test('restore-backup --session refuses a session that is not in the backup, a deleted one and a store elsewhere', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const backup = join(cli.directory, 'backup')
  await cli.one('backup', backup)
  expect(await cli.failure(['restore-backup', backup, '--session', 'zz'])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
  await cli.run(['delete', 'a'])
  const deleted = await cli.failure(['restore-backup', backup, '--session', 'a'])
  expect(deleted).toMatchObject({ status: 4, code: 'CONFLICT', message: expect.stringContaining('holdfast restore a') })
  const inDatabase = await cli.failure(['--store', 'postgres://localhost/x', 'restore-backup', backup, '--session', 'a'])
  expect(inDatabase).toMatchObject({ status: 2, code: 'INVALID_ARGUMENT', message: expect.stringContaining('holdfast copy') })
  const absent = join(cli.directory, 'absent')
  expect(await cli.failure(['--store', absent, 'restore-backup', backup, '--session', 'a'])).toMatchObject({ status: 3 })
  expect(existsSync(absent)).toBe(false)
  expect(await cli.failure(['restore-backup', backup, '--dry-run'])).toMatchObject({ status: 2, code: 'INVALID_ARGUMENT' })
  expect(await cli.failure(['restore-backup', backup, '--session', 'a', '--keys', backup])).toMatchObject({ status: 2 })
})

test('a process that was killed while it restored a session leaves it for the next one to complete', async () => {
  const cli = new Cli()
  const content = 'x'.repeat(200_000)
  await cli.prepare(async (store) => {
    const session = store.session('a')
    for (let i = 0; i < 40; i++) await session.append({ id: `m${i}`, role: 'user', content })
  })
  const backup = join(cli.directory, 'backup')
  await cli.one('backup', backup)
  const paths = segmentsIn(cli.store)
  const original = paths.map((path) => readFileSync(join(cli.store, path)))
  for (const path of paths) rmSync(join(cli.store, path))
  let kills = 0
  for (let missing = 0; kills < 5; ) {
    const child = cli.start('restore-backup', backup, '--session', 'a')
    const exited = new Promise((resolve) => child.once('exit', resolve))
    let there = segmentsIn(cli.store).length
    // A segment that appears is the event that the process is at work.
    while (child.exitCode === null && child.signalCode === null && there <= missing) {
      await new Promise((resolve) => setImmediate(resolve))
      there = segmentsIn(cli.store).length
    }
    child.kill('SIGKILL')
    await exited
    kills++
    missing = segmentsIn(cli.store).length
    if (missing === paths.length) break
  }
  expect(await cli.one('restore-backup', backup, '--session', 'a')).toMatchObject({ status: 'ok' })
  for (const [i, path] of paths.entries()) expect(readFileSync(join(cli.store, path)).equals(original[i] as Buffer), path).toBe(true)
  expect((await cli.json('show', 'a', '--limit', '50')).length).toBe(40)
})

test('status tells what is in a store, what it takes and where it lies', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  await cli.prepareMessages('b', 'm1')
  await cli.run(['delete', 'b'])
  const told = await cli.one('status')
  expect(told).toMatchObject({
    store: cli.store,
    sessions: { ok: 1, damaged: 0, deleted: 1 },
    messages: 2,
    tasks: { pending: 0 },
    versions: { format: 2 },
  })
  expect((told.bytes as { segments: number }).segments).toBeGreaterThan(100)
  expect(told.disk).toHaveProperty('keeps_promises')
})
