import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backUp, restoreBackup } from '../../src/engines/files/backup.ts'
import { splitLines } from '../../src/record/line.ts'
import { openStore } from '../../src/store/open-store.ts'
import { filesOf } from '../store/files-of.ts'

const NONCE_DIGITS = 16
const encryption = { masterKey: Buffer.alloc(32, 3) }

/** Every sealed text of a store, by its nonce: the same one may stand there again, but no other with that nonce. */
function collect(directory: string, into: Map<string, Set<string>>): void {
  for (const { path, bytes } of filesOf(directory)) {
    if (!path.endsWith('.jsonl')) continue
    for (const line of splitLines(bytes, 0).lines) {
      if (line.bytes.length < 2) continue
      const { data, messages = [], state, sealed } = JSON.parse(Buffer.from(line.bytes).toString()) as Record<string, string & string[]>
      for (const text of [data, state, ...messages]) {
        if (sealed === undefined || typeof text !== 'string') continue
        const nonce = `${sealed} ${text.slice(0, NONCE_DIGITS)}`
        into.set(nonce, (into.get(nonce) ?? new Set()).add(text))
      }
    }
  }
}

/** A store, its backup in two parts, and where that is restored to. */
async function places(): Promise<Record<'first' | 'backup' | 'keys' | 'second', string>> {
  const root = await mkdtemp(join(tmpdir(), 'holdfast-nonces-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const [first, backup, keys, second] = [join(root, 'first'), join(root, 'backup'), join(root, 'keys'), join(root, 'second')]
  return { first, backup, keys, second }
}

test('no nonce comes again with another text: not after a crash, nor in a fork, nor in what a restored backup goes on with', async () => {
  const { first, backup, keys, second } = await places()
  const options = { encryption, limits: { segmentBytes: 4000 } }
  const write = async (directory: string, round: number): Promise<void> => {
    const store = await openStore(directory, options)
    const session = store.session('s')
    for (let i = 0; i < 30; i++)
      await session.append([
        { role: 'user', content: `${i}` },
        { role: 'user', content: 'the same' },
      ])
    const fork = await session.fork({ id: `f${round}` })
    await fork.append({ role: 'user', content: 'the same' })
    // Not closed: whatever was promised is on the disk, as after a crash.
    if (round % 2 === 0) await store.close()
    else onTestFinished(() => store.close())
  }
  for (let round = 0; round < 3; round++) await write(first, round)
  await backUp(first, backup)
  await backUp(first, keys, { part: 'keys' })
  await restoreBackup(backup, second, { keys })
  await write(first, 3)
  await write(second, 3)
  const nonces = new Map<string, Set<string>>()
  collect(first, nonces)
  collect(second, nonces)
  expect(nonces.size).toBeGreaterThan(400)
  expect([...nonces.values()].filter((texts) => texts.size > 1)).toEqual([])
})

test('a backup has no key: what was destroyed cannot be read in it either, by nobody who still has the master key', async () => {
  const { first, backup, keys, second } = await places()
  const store = await openStore(first, { encryption })
  await store.session('gone').append({ role: 'user', content: 'x' })
  await store.session('kept').append({ role: 'user', content: 'y' })
  await backUp(first, backup)
  expect(await store.destroyKey('gone')).toBe(true)
  await backUp(first, keys, { part: 'keys' })
  await store.close()
  await restoreBackup(backup, second, { keys })
  const restored = await openStore(second, { encryption })
  onTestFinished(() => restored.close())
  await expect(restored.session('gone').messages()).rejects.toMatchObject({ details: { reason: 'no session key' } })
  expect((await restored.session('kept').messages()).messages).toHaveLength(1)
})
