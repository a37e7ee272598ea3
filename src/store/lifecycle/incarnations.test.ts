import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../../record/record.ts'
import { openStore } from '../open-store.ts'

test('an append right behind a re-creation is not taken for one of the former incarnation', async () => {
  const store = await openStore('memory:')
  const session = store.session<JsonObject>('s')
  await session.append({ id: 'a', content: 'first life' })
  await session.delete()
  // Both go into one group.
  const [, appended] = await Promise.all([session.create({}), session.append({ id: 'a', content: 'first life' })])
  expect(appended.duplicate).toBe(false)
  expect((await session.messages()).messages.map(({ id }) => id)).toEqual(['a'])
})

test('a key of a session that another process has purged is free again, also where the session had been read before', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const limits = { segmentBytes: 500 }
  const [here, there] = [await openStore(directory, { limits }), await openStore(directory, { limits })]
  await there.session<JsonObject>('s').append({ content: 'first life' }, { key: 'k' })
  await here.session<JsonObject>('s').delete()
  for await (const _ of there.purge({ olderThanMs: 0 }));
  await here.session<JsonObject>('parent').append({ id: 'a', content: 'hi' })
  await here.session<JsonObject>('parent').fork({ id: 's', key: 'k' })
  expect((await there.session<JsonObject>('s').messages()).messages.map(({ id }) => id)).toEqual(['a'])
  await Promise.all([here.close(), there.close()])
})
