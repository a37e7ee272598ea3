/** A loss that is accepted while the segment after it was begun and has no checkpoint: the checkpoint that finishes it must not hide the loss. */
import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/index.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-unfinished-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

test.each([
  [4, 0],
  [100, 0],
  [1400, 2],
])('a first segment cut to %i bytes keeps %i messages, and the second one has no checkpoint', async (left, kept) => {
  {
    await using store = await openStore(directory, { limits: { segmentBytes: 2000 } })
    for (let i = 0; i < 8; i++) await store.session('a').append({ role: 'user', content: `${i} ${'and so on '.repeat(20)}` })
  }
  const folder = join(directory, 'sessions', journalName('default', 'a'))
  const [first, second, ...later] = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).sort() as [string, string]
  await truncate(join(folder, first), left)
  await truncate(join(folder, second), 4)
  for (const name of later) await rm(join(folder, name))

  await using store = await openStore(directory)
  const { accepted } = await store.session('a').acceptDamage()
  expect(accepted).toMatchObject([{ reason: 'vanished', accepted: true }])
  await store.session('a').append({ role: 'user', content: 'more' })
  const { messages, damage } = await store.session('a').messages({ from: 'start', limit: 100 })
  expect(messages).toHaveLength(kept + 1)
  expect(messages.at(-1)?.message).toMatchObject({ content: 'more' })
  expect(damage).toMatchObject([{ reason: 'vanished', accepted: true }])
})
