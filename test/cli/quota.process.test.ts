/** `quota` and `audit`. */
import { expect, test } from 'vitest'
import { Cli } from './holdfast.ts'

test('a quota is set, shown and taken away; the audit of a store that nobody served is empty', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const used = { sessions: 1, bytes: expect.any(Number) }
  const none = { sessions: null, bytes: null, messages_per_minute: null, used }
  expect(await cli.one('quota')).toEqual(none)
  expect(await cli.one('quota', '--sessions', '5', '--messages-per-minute', '60')).toEqual({
    ...none,
    sessions: 5,
    messages_per_minute: 60,
  })
  expect(await cli.one('quota')).toEqual({ ...none, sessions: 5, messages_per_minute: 60 })
  expect((await cli.run(['quota'])).stdout).toMatch(/sessions: 1 of 5 {2}bytes: \d+ of any number {2}messages a minute: 60/)
  expect(await cli.one('quota', '--bytes', '1000')).toEqual({ ...none, sessions: 5, bytes: 1000, messages_per_minute: 60 })
  expect(await cli.failure(['quota', '--clear', '--bytes', '1'])).toMatchObject({ status: 2 })
  expect(await cli.one('quota', '--clear')).toEqual(none)
  expect(await cli.run(['audit', '--from', '7d'])).toMatchObject({ status: 0, stdout: '' })
})

test('how long things are kept is set, shown, gone by and taken away', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const never = { delete_idle_after_seconds: null, drop_archives_after_seconds: null, purge_deleted_after_seconds: null }
  expect(await cli.one('retention')).toEqual(never)
  expect(await cli.one('retention', '--deleted', '30d')).toEqual({ ...never, purge_deleted_after_seconds: 2_592_000 })
  expect(await cli.one('retention', '--idle', '0s')).toEqual({
    ...never,
    delete_idle_after_seconds: 0,
    purge_deleted_after_seconds: 2_592_000,
  })
  expect((await cli.run(['retention'])).stdout).toBe(
    'idle sessions: deleted after 0s  messages of archives: kept  deleted sessions: purged after 30d\n',
  )
  expect(await cli.one('expire', '--dry-run')).toMatchObject({ session_id: 'a', action: 'deleted', dry_run: true })
  expect(await cli.one('expire')).toMatchObject({ session_id: 'a', action: 'deleted', dry_run: false })
  expect(await cli.failure(['retention', '--clear', '--idle', '1d'])).toMatchObject({ status: 2 })
  expect(await cli.one('retention', '--clear')).toEqual(never)
})
