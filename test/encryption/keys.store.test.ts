/** What becomes of keys that are wrapped anew or destroyed, by several at once and by somebody who dies over it. */
import { expect, test } from 'vitest'
import { masterKeyOf, newMasterKey } from '../../src/encryption/master-key.ts'
import type { Store } from '../../src/store/store.ts'
import { tracesOf } from '../erase/traces.ts'
import { useDirectory } from '../store/directory.ts'
import { dyingAt } from '../store/dying.ts'

const directory = useDirectory()
const masterKey = newMasterKey()
const encryption = { masterKey }

async function contents(store: Store, id = 's'): Promise<unknown[]> {
  const { messages } = await store.session(id).messages()
  return messages.map(({ message }) => message.content)
}

const next = newMasterKey()
const turning = { masterKey: next, formerKeys: [masterKey] }

/** Three sessions, of which the key of one was destroyed. */
async function threeSessions(): Promise<void> {
  const store = await directory().open({ encryption })
  for (const id of ['a', 'b', 'gone']) await store.session(id).append({ role: 'user', content: id })
  await store.destroyKey('gone')
  await store.close()
}

async function expectTurned(): Promise<void> {
  const store = await directory().open({ encryption: { masterKey: next } })
  for (const id of ['a', 'b']) expect(await contents(store, id)).toEqual([id])
  const gone = store.session('gone')
  await expect(gone.messages()).rejects.toMatchObject({ details: { reason: 'no session key' } })
  await expect(gone.append({ role: 'user', content: 'x' })).rejects.toMatchObject({ details: { reason: 'no session key' } })
  await store.close()
  expect(tracesOf(directory().path, masterKeyOf(masterKey).id)).toEqual([])
}

test('keys that are wrapped anew by several at once are all there afterwards, and what was destroyed stays so', async () => {
  await threeSessions()
  const stores = await Promise.all([1, 2, 3].map(() => directory().open({ encryption: turning })))
  await Promise.all(stores.map((store) => store.rotateKeys()))
  await Promise.all(stores.map((store) => store.close()))
  await expectTurned()
})

test('whoever dies at any write of wrapping anew has lost no key, and the next one brings it to its end', async () => {
  for (let write = 1; ; write++) {
    await directory().empty()
    await threeSessions()
    const { wrap, hasDied } = dyingAt(write)
    const dying = await directory().open({ encryption: turning, wrap })
    const outcome = await dying.rotateKeys().catch(() => undefined)
    await dying.close().catch(() => undefined)
    const store = await directory().open({ encryption: turning })
    for (const id of ['a', 'b']) expect(await contents(store, id)).toEqual([id])
    await store.rotateKeys()
    await store.close()
    await expectTurned()
    if (!hasDied()) return expect(outcome).toBe(2)
  }
})

test('an attempt by another master key, which was given up, leaves nothing behind', async () => {
  await threeSessions()
  const other = newMasterKey()
  const { wrap } = dyingAt(5)
  const dying = await directory().open({ encryption: { masterKey: other, formerKeys: [masterKey] }, wrap })
  await expect(dying.rotateKeys()).rejects.toThrow()
  await dying.close().catch(() => undefined)
  expect(tracesOf(directory().path, masterKeyOf(other).id)).not.toEqual([])
  const store = await directory().open({ encryption: turning })
  await store.rotateKeys()
  await store.close()
  await expectTurned()
  expect(tracesOf(directory().path, masterKeyOf(other).id)).toEqual([])
})

test('whoever dies at any write of destroying a key leaves it whole or half, and the next one destroys it', async () => {
  for (let write = 1; ; write++) {
    await directory().empty()
    const store = await directory().open({ encryption })
    await store.session('s').append({ role: 'user', content: 'x' })
    await store.close()
    const { wrap, hasDied } = dyingAt(write)
    const dying = await directory().open({ encryption, wrap })
    await dying.destroyKey('s').catch(() => undefined)
    await dying.close().catch(() => undefined)
    const again = await directory().open({ encryption })
    // The catalog asks for the key, and whoever reads that meets an erasure that was begun.
    await again.list()
    await again.destroyKey('s')
    await expect(contents(again)).rejects.toMatchObject({ details: { reason: 'no session key' } })
    await again.close()
    expect(tracesOf(directory().path, '"wrapped"')).toEqual([])
    if (!hasDied()) return
  }
})
