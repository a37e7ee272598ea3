/** An encrypted store on the command line. */
import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tracesOf } from '../erase/traces.ts'
import { Cli } from './holdfast.ts'

test('a store is encrypted, read with its key and not without, rotated, backed up and restored; what was destroyed comes back from nowhere', async () => {
  const cli = new Cli()
  const [key, next, backup, keys] = ['a.key', 'b.key', 'backup', 'keys'].map((name) => join(cli.directory, name)) as [
    string,
    string,
    string,
    string,
  ]
  await cli.one('encryption', 'new-key', key)
  expect(statSync(key).mode & 0o777).toBe(0o600)
  expect(await cli.failure(['encryption', 'new-key', key])).toMatchObject({ status: 2 })
  await cli.one('encryption', 'new-key', next)

  const withKey = ['--master-key-file', key]
  await cli.one('append', 'a', 'Quagmire', ...withKey)
  await cli.one('append', 'b', 'Xanadu', ...withKey)
  expect(tracesOf(cli.store, 'Quagmire', 'Xanadu')).toEqual([])
  expect(await cli.one('show', 'a', ...withKey)).toMatchObject({ message: { content: 'Quagmire' } })
  expect(await cli.failure(['show', 'a'])).toMatchObject({ status: 1, code: 'UNREADABLE' })
  expect(await cli.failure(['show', 'a', '--master-key-file', next])).toMatchObject({ status: 1, code: 'UNREADABLE' })
  expect((await cli.run(['doctor'])).status).toBe(0)
  // Nobody can tell whether they were deleted: a timer that purges hears of it.
  for (const command of [['purge'], ['expire', '--deleted', '0s']]) {
    const { status, stdout, stderr } = await cli.run(command)
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('2 could not be.') })
    expect(stdout).toMatch(/cannot (?:be purged|go): .*key/)
  }

  const { stderr } = await cli.run(['backup', backup])
  expect(stderr).toContain('--keys')
  expect(await cli.one('encryption', 'rotate', next, ...withKey)).toEqual({ keys: 2 })
  expect(await cli.failure(['show', 'a', ...withKey])).toMatchObject({ code: 'UNREADABLE' })
  const withNext = ['--master-key-file', next]
  expect(await cli.one('encryption', 'destroy', 'b', ...withNext)).toEqual({ session_id: 'b', destroyed: true })
  await cli.one('backup', backup, '--keys', keys)
  expect(existsSync(keys)).toBe(true)
  // What was destroyed on purpose is no failure, every time again.
  expect(await cli.run(['purge', ...withNext])).toMatchObject({ status: 0, stdout: '' })

  rmSync(cli.store, { recursive: true })
  await cli.one('restore-backup', backup, '--keys', keys)
  expect(await cli.one('show', 'a', ...withNext)).toMatchObject({ message: { content: 'Quagmire' } })
  expect(await cli.failure(['show', 'b', ...withNext])).toMatchObject({ status: 1, code: 'UNREADABLE' })
})
