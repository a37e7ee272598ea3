/** `quota` and `audit`. */
import { expect, test } from 'vitest'
import { Cli } from './holdfast.ts'

test('a quota is set, shown and taken away; the audit of a store that nobody served is empty', async () => {
  const cli = new Cli()
  await cli.prepareMessages('a', 'm1')
  const none = { sessions: null, bytes: null, messages_per_minute: null }
  expect(await cli.one('quota')).toEqual(none)
  expect(await cli.one('quota', '--sessions', '5', '--messages-per-minute', '60')).toEqual({
    ...none,
    sessions: 5,
    messages_per_minute: 60,
  })
  expect(await cli.one('quota')).toEqual({ ...none, sessions: 5, messages_per_minute: 60 })
  expect(await cli.failure(['quota', '--clear', '--bytes', '1'])).toMatchObject({ status: 2 })
  expect(await cli.one('quota', '--clear')).toEqual(none)
  expect(await cli.run(['audit', '--from', '7d'])).toMatchObject({ status: 0, stdout: '' })
})
