/** The directories of two sessions are swapped in the moment in which one of them begins a new segment, and put back later. */
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { journalName } from '../../src/engine/names.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import { diskWith } from './disk-with.ts'

test('no file of one session stays in the directory of the other', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-swapped-roll-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const folderOf = (id: string): string => join(directory, 'sessions', journalName('default', id))
  const swap = (): void => {
    const [one, other] = [folderOf('one'), folderOf('other')]
    renameSync(one, `${one}.aside`)
    renameSync(other, one)
    renameSync(`${one}.aside`, other)
  }
  let swapped = false
  const disk = diskWith({
    open: async (path, mode) => {
      if (
        !swapped &&
        mode === 'create' &&
        path.startsWith(folderOf('one')) &&
        !path.endsWith('/0000000000000000.jsonl') &&
        path.endsWith('.jsonl')
      ) {
        swapped = true
        swap()
      }
      return nodeDisk.open(path, mode)
    },
  })
  await using other = await openStore(directory)
  await other.session('other').append({ role: 'user', content: 'other' })
  {
    await using store = await openStore(await openFilesEngine({ directory, keysOf: sessionReducer.keysOf, disk }), {
      limits: { segmentBytes: 2000 },
    })
    const session = store.session('one')
    for (let i = 0; i < 20 && !swapped; i++)
      await session.append({ role: 'user', content: `${i} ${'and so on '.repeat(20)}` }).catch(() => undefined)
  }
  expect(swapped).toBe(true)
  swap()
  await using store = await openStore(directory)
  for (const id of ['one', 'other']) {
    expect(await store.session(id).info()).toMatchObject({ status: 'ok' })
    await store.session(id).append({ role: 'user', content: 'more' })
  }
})
