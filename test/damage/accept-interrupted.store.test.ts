/**
 * A process dies after each change that it makes to the disk while damage is accepted. The next process finds the damage as it was, or accepted, and
 * loses nothing more. The real disk, which refuses every call from the moment of death on.
 */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { journalName } from '../../src/engine/names.ts'
import type { Disk, DiskFile } from '../../src/engines/files/disk.ts'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'
import { sessionReducer } from '../../src/session/reducer.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { diskWith } from './disk-with.ts'

/** A disk of a process that dies at its `last`-th change. A write that is the last change puts half of its bytes. */
function mortal(last: number): { readonly disk: Disk; readonly changes: () => number } {
  let changes = 0
  const alive = (): void => {
    if (changes >= last) throw Object.assign(new Error('The process is dead.'), { code: 'EIO' })
  }
  const change = <T>(work: () => T): T => {
    alive()
    changes++
    return work()
  }
  const half = (bytes: Uint8Array): Uint8Array => {
    alive()
    return changes + 1 === last ? bytes.subarray(0, Math.ceil(bytes.length / 2)) : bytes
  }
  const calls: Partial<Disk> = {
    open: async (path, mode) => {
      alive()
      return mode === 'create' ? change(() => nodeDisk.open(path, mode)) : nodeDisk.open(path, mode)
    },
    makeDirectory: async (path) => change(() => nodeDisk.makeDirectory(path)),
    remove: async (path) => change(() => nodeDisk.remove(path)),
    rename: async (from, to) => change(() => nodeDisk.rename(from, to)),
    overwrite: async (...args) => change(() => nodeDisk.overwrite(...args)),
    syncDirectory: async (path) => change(() => nodeDisk.syncDirectory(path)),
  }
  const file = (_: string, plain: DiskFile): Partial<DiskFile> => ({
    writeSync: (bytes) => {
      const some = half(bytes)
      return change(() => plain.writeSync(some))
    },
    write: async (bytes) => {
      const some = half(bytes)
      return change(() => plain.write(some))
    },
    sync: async () => change(() => plain.sync()),
  })
  return { disk: diskWith(calls, file), changes: () => changes }
}

async function writeFive(path: string): Promise<void> {
  await using store = await openStore(path)
  for (const text of ['one', 'two', 'three', 'four', 'five']) await store.session('a').append({ role: 'user', content: text })
}

function journalIn(store: string): string {
  return join(store, 'sessions', journalName('default', 'a'), '0000000000000000.jsonl')
}

const HARMS: Readonly<Record<string, { readonly left: readonly string[]; readonly harm: (path: string) => void }>> = {
  'the end of the journal is cut off': {
    left: ['one', 'two', 'three'],
    harm: (path) => truncateSync(path, readFileSync(path).lastIndexOf('\n', readFileSync(path).indexOf('four')) + 1),
  },
  'a line in the middle rots': {
    left: ['one', 'two', 'four', 'five'],
    harm: (path) => {
      const bytes = readFileSync(path)
      bytes.write('X', bytes.indexOf('three'))
      writeFileSync(path, bytes)
    },
  },
}

async function texts(store: Store): Promise<unknown[]> {
  const { messages } = await store.session('a').messages({ from: 'start', limit: 100 })
  return messages.map(({ message }) => message.content)
}

async function openMortal(directory: string, disk: Disk): Promise<Store> {
  return openStore(await openFilesEngine({ directory, keysOf: sessionReducer.keysOf, disk }))
}

test.each(Object.entries(HARMS))('%s, and a process dies at any change while it accepts that', async (_, { left, harm }) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-accept-interrupted-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const outcomes = new Set<string>()
  for (let last = 1; ; last++) {
    const store = join(directory, String(last))
    // Not a copy: watermarks say nothing about the files of a copy.
    await writeFive(store)
    harm(journalIn(store))
    const { disk, changes } = mortal(last)
    const dying = await openMortal(store, disk).catch(() => undefined)
    const accepted = await dying
      ?.session('a')
      .acceptDamage()
      .then(
        () => true,
        () => false,
      )
    await dying?.close().catch(() => undefined)
    {
      await using next = await openStore(store)
      expect(await texts(next)).toEqual(left)
      const { status } = await next.session('a').info()
      outcomes.add(status)
      // What was acknowledged is accepted. What was not may be.
      if (accepted === true) expect(status).toBe('ok')
      await next.session('a').acceptDamage()
      await next.session('a').append({ role: 'user', content: 'six' })
      expect(await texts(next)).toEqual([...left, 'six'])
      const kinds: string[] = []
      for await (const { kind } of doctor(next, { session: 'a' })) kinds.push(kind)
      // Half a line is what the dying process left, and no damage.
      expect(kinds.filter((kind) => kind !== 'acknowledged' && kind !== 'torn')).toEqual([])
    }
    rmSync(store, { recursive: true })
    if (changes() < last) break
    expect(last).toBeLessThan(200)
  }
  expect([...outcomes].sort()).toEqual(['damaged', 'ok'])
})
