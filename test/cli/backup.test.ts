/** `backup` and `restore-backup`. */
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Cli } from './holdfast.ts'

function segmentsIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.startsWith('sessions') && name.endsWith('.jsonl'),
  )
}

test('a store comes back from its backup, with everything that was in it', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1', 'm2')
  await cli.prepare(async (store) => (await (await store.session('a')).fork({ id: 'f' })).append({ role: 'user', content: 'x' }))
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
  expect((await cli.run(['backup', backup])).stderr).toContain('1 segments copied, 0 were there already')
  expect((await cli.run(['backup', backup])).stderr).toContain('0 segments copied, 1 were there already')
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
  expect(stderr).toContain('it was kept')
  expect(readFileSync(join(backup, segment)).equals(good)).toBe(true)
})

test('there is nothing to back up where no store is', async () => {
  const cli = new Cli()
  expect(await cli.failure(['backup', join(cli.directory, 'backup')])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
  expect(await cli.failure(['restore-backup', join(cli.directory, 'backup')])).toMatchObject({ status: 3, code: 'NOT_FOUND' })
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
    versions: { format: 1 },
  })
  expect((told.bytes as { segments: number }).segments).toBeGreaterThan(100)
  expect(told.disk).toHaveProperty('keeps_promises')
})
