import { expect, test } from 'vitest'
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
    const session = await store.session('s')
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
