/** What tests of backups begin with: a store, its backup, and a disk that dies. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { journalName } from '../../src/engine/names.ts'
import { backUp } from '../../src/engines/files/backup.ts'
import type { Disk } from '../../src/engines/files/disk.ts'
import { nodeDisk as realDisk } from '../../src/engines/files/node-disk.ts'
import { type OpenOptions, openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { type RestoredSession, restoreSession } from '../../src/transfer/restore-session.ts'
import { diskWith } from '../damage/disk-with.ts'

/** A store and its backup, for one test. Its segments are small. */
export class Place {
  readonly root = mkdtempSync(join(tmpdir(), 'holdfast-restore-'))
  readonly store = join(this.root, 'store')
  readonly backup = join(this.root, 'backup')

  constructor() {
    onTestFinished(() => rmSync(this.root, { recursive: true, force: true }))
  }

  async open(options: OpenOptions = {}): Promise<Store> {
    const store = await openStore(this.store, { limits: { segmentBytes: 2000 }, ...options })
    onTestFinished(() => store.close())
    return store
  }

  /** Does something with a store that is closed afterwards. */
  async with<T>(work: (store: Store) => Promise<T>, options: OpenOptions = {}): Promise<T> {
    const store = await openStore(this.store, { limits: { segmentBytes: 2000 }, ...options })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }

  say(id: string, from: number, to: number): Promise<void> {
    return this.with((store) => say(store, id, from, to))
  }

  directory(id: string, root = this.store): string {
    return join(root, 'sessions', journalName('default', id))
  }

  segments(id: string, root = this.store): string[] {
    return readdirSync(this.directory(id, root))
      .filter((file) => file.endsWith('.jsonl'))
      .sort()
      .map((file) => join(this.directory(id, root), file))
  }

  bytes(id: string, root = this.store): Buffer {
    return Buffer.concat(this.segments(id, root).map((file) => readFileSync(file)))
  }

  restore(id: string, options: Parameters<typeof restoreSession>[3] = {}): Promise<RestoredSession> {
    return restoreSession(this.backup, this.store, id, options)
  }
}

export async function say(store: Store, id: string, from: number, to: number): Promise<void> {
  const session = store.session(id)
  for (let i = from; i < to; i++) await session.append({ id: `m${i}`, role: 'user', content: `message ${i} ${'x'.repeat(100)}` })
}

export async function idsOf(store: Store, id: string): Promise<string[]> {
  const { messages } = await store.session(id).messages({ limit: 200 })
  return messages.map((message) => message.id)
}

export const UP_TO = (count: number): string[] => Array.from({ length: count }, (_, i) => `m${i}`)

/** A session of several segments, backed up. */
export async function backedUp(count = 40): Promise<Place> {
  const place = new Place()
  await place.say('a', 0, count)
  await place.say('b', 0, 2)
  await backUp(place.store, place.backup)
  return place
}

/** The real disk, until its `count`th change, which dies: half of what it writes is done, and nothing after it. */
export function dyingDisk(count: number): { disk: Disk; changes: () => number } {
  let changes = 0
  const die = (): void => {
    if (++changes >= count) throw Object.assign(new Error('died'), { code: 'EIO' })
  }
  const disk = diskWith(
    {
      rename: async (from, to) => {
        die()
        return realDisk.rename(from, to)
      },
      makeDirectory: async (path) => {
        die()
        return realDisk.makeDirectory(path)
      },
      syncDirectory: async (path) => {
        die()
        return realDisk.syncDirectory(path)
      },
      overwrite: async (path, offset, was, bytes, sync) => {
        if (changes + 1 === count) await realDisk.overwrite(path, offset, was.subarray(0, 20), bytes.subarray(0, 20))
        die()
        return realDisk.overwrite(path, offset, was, bytes, sync)
      },
    },
    (_, file) => ({
      writeSync: (bytes) => {
        if (changes + 1 === count) file.writeSync(bytes.subarray(0, Math.floor(bytes.length / 2)))
        die()
        return file.writeSync(bytes)
      },
      write: async (bytes) => {
        if (changes + 1 === count) await file.write(bytes.subarray(0, Math.floor(bytes.length / 2)))
        die()
        return file.write(bytes)
      },
      sync: async () => {
        die()
        return file.sync()
      },
    }),
  )
  return { disk, changes: () => changes }
}
