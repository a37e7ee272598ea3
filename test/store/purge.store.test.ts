import { expect, onTestFinished, test } from 'vitest'
import { Database } from '../../src/catalog/sqlite/database.ts'
import { currentFile } from '../../src/catalog/sqlite/file.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { tracesOf } from '../erase/traces.ts'
import { useDirectory } from './directory.ts'
import { dyingAt } from './dying.ts'

const directory = useDirectory()

async function purgeAll(store: Store): Promise<void> {
  for await (const { action } of store.purge({ olderThanMs: 0 })) expect(action).toBe('purged')
}

test('whoever dies at any write of a purge is followed by one that brings it to its end: nothing is left of the session', async () => {
  for (let write = 1; ; write++) {
    await directory().empty()
    const store = await directory().open()
    const session = store.session('s')
    await session.append({ role: 'user', content: 'Quagmire' })
    await session.delete()
    await store.close()
    const { wrap, hasDied } = dyingAt(write)
    const dying = await directory().open({ wrap })
    await purgeAll(dying).catch((error: Error) => expect(error.message).toBe('died'))
    await dying.close()
    const again = await directory().open()
    await purgeAll(again)
    await again.close()
    expect(tracesOf(directory().path, 'Quagmire')).toEqual([])
    if (!hasDied()) return
  }
})

/** A session that was in the catalog and is purged, by somebody who dies before its words are gone from there. Then somebody else looks. */
async function purgedHalfway(make: (store: Store) => Promise<unknown>): Promise<Store> {
  const dying = await openStore(directory().path)
  await make(dying)
  await dying.search('quagmire')
  await dying.session('s').delete()
  expect(await dying.purge({ olderThanMs: 0 }).next()).toMatchObject({ value: { action: 'purged' } })
  await dying.close()
  const store = await openStore(directory().path)
  onTestFinished(() => store.close())
  // Takes them out of the index, and leaves them in its pages.
  await store.list()
  expect(tracesOf(directory().path, 'quagmire')).not.toEqual([])
  return store
}

const QUAGMIRES: readonly [string, (store: Store) => Promise<unknown>][] = [
  ['a message', async (store) => store.session('s').append({ role: 'user', content: 'quagmire' })],
  ['nothing but a title', (store) => store.create({ id: 's', title: 'quagmire' })],
]

test.each(QUAGMIRES)(
  'whoever dies before the words of a purged session are gone from the catalog is followed by a purge that ends it, although nothing else is due: %s',
  async (_, make) => {
    await purgeAll(await purgedHalfway(make))
    expect(tracesOf(directory().path, 'quagmire')).toEqual([])
  },
)

test('a purge that could not take all words out of a catalog that was in use says so, and the next one does', async () => {
  const store = await purgedHalfway((dying) => dying.create({ id: 's', title: 'quagmire' }))
  const reader = new Database((await currentFile(directory().path)) as string)
  reader.exec('BEGIN')
  reader.get('SELECT count(*) FROM sessions')
  await expect(purgeAll(store)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  reader.exec('COMMIT')
  reader.close()
  await purgeAll(store)
  expect(tracesOf(directory().path, 'quagmire')).toEqual([])
})
