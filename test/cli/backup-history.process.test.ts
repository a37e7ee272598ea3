/** `backup` of sessions that continued after a loss: each copy in the backup is one history. */
import { readdirSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { journalName } from '../../src/engine/names.ts'
import { Cli, objectsIn } from './holdfast.ts'

/** A session with m1 to m4 in a backup, of which m1 and m2 are left in the store, and which continued with `after`. */
async function continued(): Promise<{ cli: Cli; backup: string }> {
  const cli = new Cli()
  for (const id of ['m1', 'm2', 'm3', 'm4']) await cli.prepareMessages('a', id)
  const backup = join(cli.directory, 'backup')
  await cli.one('backup', backup)
  const file = join(cli.store, 'sessions', journalName('default', 'a'), `${'0'.repeat(16)}.jsonl`)
  truncateSync(file, statSync(file).size - 600)
  expect((await cli.run(['accept-damage', 'a'])).status).toBe(0)
  expect((await cli.run(['append', 'a', 'after', '--message-id', 'after'])).status).toBe(0)
  return { cli, backup }
}

async function idsIn(store: string): Promise<string[]> {
  const other = new Cli()
  other.extra = { HOLDFAST_STORE: store }
  const { stdout, status } = await other.run(['--json', 'show', 'a'])
  expect(status).toBe(0)
  return objectsIn(stdout).map(({ id }) => String(id))
}

test('a backup after accepted damage replaces the copy of the session, and keeps the former one', async () => {
  const { cli, backup } = await continued()
  const { status, stderr } = await cli.run(['backup', backup])
  expect({ status, stderr }).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('The session "a" continued after its damage was accepted. Its former copy is now in'),
  })
  expect(await cli.one('backup', backup)).toMatchObject({ segments: 0, unchanged: 2, differing: [], replaced: [] })
  const restored = join(cli.directory, 'restored')
  expect((await cli.run(['restore-backup', backup, '--store', restored])).status).toBe(0)
  expect(await idsIn(restored)).toEqual(['m1', 'm2', 'after'])
  expect((await cli.run(['doctor', '--store', restored])).status).toBe(0)
  expect(readdirSync(restored)).not.toContain('replaced')
  const [time] = readdirSync(join(backup, 'replaced')) as [string]
  const former = join(cli.directory, 'former')
  expect((await cli.run(['restore-backup', join(backup, 'replaced', time), '--store', former])).status).toBe(0)
  expect(await idsIn(former)).toEqual(['m1', 'm2', 'm3', 'm4'])
  expect((await cli.run(['doctor', '--store', former])).status).toBe(0)
})

for (const first of ['backup', 'restore', 'restore of the session'] as const)
  test(`a replacement in a backup that was interrupted between its two moves is completed by the next ${first}`, async () => {
    const { cli, backup } = await continued()
    expect((await cli.run(['backup', backup])).status).toBe(0)
    const journal = `sessions/${journalName('default', 'a')}`
    const [time] = readdirSync(join(backup, 'replaced')) as [string]
    renameSync(join(backup, journal), join(backup, 'replaced', time, `next+${journal.replaceAll('/', '+')}`))
    if (first === 'backup') expect(await cli.one('backup', backup)).toMatchObject({ segments: 0, unchanged: 2, replaced: [] })
    if (first === 'restore of the session') expect((await cli.run(['restore-backup', backup, '--session', 'a'])).status).toBe(0)
    const restored = join(cli.directory, 'restored')
    expect((await cli.run(['restore-backup', backup, '--store', restored])).status).toBe(0)
    expect(await idsIn(restored)).toEqual(['m1', 'm2', 'after'])
  })

test('backup --json names the session that was replaced and where its former copy is', async () => {
  const { cli, backup } = await continued()
  const done = await cli.one('backup', backup)
  const [time] = readdirSync(join(backup, 'replaced')) as [string]
  const journal = `sessions/${journalName('default', 'a')}`
  expect(done).toMatchObject({
    differing: [],
    replaced: [{ session_id: 'a', space: 'default', journal, moved_to: `replaced/${time}` }],
  })
})

test('messages that were exported from a backup and imported again are there once after the next backup', async () => {
  const { cli, backup } = await continued()
  const conflict = await cli.failure(['restore-backup', backup, '--session', 'a'])
  expect(conflict).toMatchObject({ status: 4, code: 'CONFLICT' })
  const [former, exported] = [join(cli.directory, 'former'), join(cli.directory, 'a.jsonl')]
  expect((await cli.run(['restore-backup', backup, '--store', former])).status).toBe(0)
  expect((await cli.run(['export', 'a', '--out', exported, '--store', former])).stderr).toContain('1 session exported to')
  const imported = await cli.run(['import', exported])
  expect(imported.stderr).toContain('2 messages imported into 1 session from 1 source; 2 were imported before')
  expect((await cli.run(['backup', backup])).status).toBe(0)
  const restored = join(cli.directory, 'restored')
  expect((await cli.run(['restore-backup', backup, '--store', restored])).status).toBe(0)
  const ids = await idsIn(restored)
  expect(ids).toEqual(await idsIn(cli.store))
  expect(ids).toEqual(['m1', 'm2', 'after', 'm3', 'm4'])
  expect((await cli.run(['doctor', '--store', restored])).status).toBe(0)
})

test('a backup names the sessions that lost bytes, and exits with 5', async () => {
  const cli = new Cli()
  for (const id of ['a', 'b', 'c']) await cli.prepareMessages(id, `${id}1`, `${id}2`)
  const file = (id: string): string => join(cli.store, 'sessions', journalName('default', id), `${'0'.repeat(16)}.jsonl`)
  truncateSync(file('a'), statSync(file('a')).size - 100)
  rmSync(dirname(file('b')), { recursive: true })
  const { status, stdout, stderr } = await cli.run(['--json', 'backup', join(cli.directory, 'backup')])
  expect(status).toBe(5)
  expect(objectsIn(stdout)).toMatchObject([
    {
      vanished: expect.arrayContaining([
        { session_id: 'a', space: 'default' },
        { session_id: 'b', space: 'default' },
      ]),
    },
  ])
  expect(stderr).toContain('holdfast doctor b')
  expect(stderr).not.toContain('doctor c')
})
