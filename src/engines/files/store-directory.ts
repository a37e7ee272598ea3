/**
 * The directory of a store while this process has it open. Another program may unmount, rename or delete it, or put another store in its place. Files that
 * are open still lead to the former directory then, and every path leads to its successor: an empty mount point looks like a store without sessions.
 *
 * So each look-up of a name, and each call that creates, renames or removes one, comes with a check that `holdfast.json` is still the file that was read
 * when the store was opened. That costs one stat. If it is another file, its id decides: with the same id the store was restored or remounted, and the
 * process continues. Otherwise the call fails with UNAVAILABLE, until the directory is back. An append to an open file adds nothing: it compares the
 * path of that file with the file after each write.
 */
import { join } from 'node:path'
import { HoldfastError } from '../../errors.ts'
import { type Disk, type DiskFile, type FileStat, isSameFile } from './disk.ts'
import { unreadable } from './failures.ts'
import { IDENTITY_FILE, type Identified, readIdentity } from './identity.ts'

export class StoreDirectory {
  readonly #disk: Disk
  readonly #root: string
  readonly #store: string
  /** What is compared: `holdfast.json`, or the directory itself if it has none. */
  readonly #path: string
  #known: FileStat | undefined
  /** How often another directory with the same store took the place of this one. */
  #successions = 0
  readonly #onSucceeded: (() => void)[] = []

  constructor(disk: Disk, root: string, { store, file }: Pick<Identified, 'store' | 'file'>) {
    this.#disk = disk
    this.#root = root
    this.#store = store
    this.#path = file === undefined ? root : join(root, IDENTITY_FILE)
    this.#known = file ?? disk.statSync(root)
  }

  /** Calls back when another directory with the same store has taken the place of this one: open files lead to the former one. */
  onSucceeded(listener: () => void): void {
    this.#onSucceeded.push(listener)
  }

  /** Throws UNAVAILABLE if the directory is not the store's. Returns how often another one with the same store took its place. */
  async check(): Promise<number> {
    if (!this.#isKnown()) await this.#compare()
    return this.#successions
  }

  #isKnown(): boolean {
    const known = this.#known
    // Where it could not be written, and the directory has no number either, there is nothing to compare.
    if (known === undefined) return true
    const now = this.#stat()
    if (now === undefined || !isSameFile(now, known) || now.createdMs !== known.createdMs) return false
    return this.#path === this.#root || (now.changedMs === known.changedMs && now.size === known.size)
  }

  #stat(): FileStat | undefined {
    try {
      return this.#disk.statSync(this.#path)
    } catch (error) {
      throw unreadable(error, 'The directory of the store')
    }
  }

  async #compare(): Promise<void> {
    const file = await requireStore(this.#disk, this.#root, this.#store)
    const known = this.#known
    this.#known = file
    if (known !== undefined && isSameFile(known, file) && known.createdMs === file.createdMs) return
    this.#successions++
    for (const listener of this.#onSucceeded) listener()
  }
}

/** Returns `holdfast.json` of a directory. UNAVAILABLE if it is not that of a certain store. */
export async function requireStore(disk: Disk, root: string, store: string): Promise<FileStat> {
  const found = await readIdentity(disk, root)
  if (found === undefined) throw moved('it has no holdfast.json. It was unmounted, moved or deleted')
  const { identity, file } = found
  if (identity === undefined) throw moved('its holdfast.json is damaged')
  if (identity.store !== store) throw moved(`it holds another store, ${identity.store} instead of ${store}`)
  return file
}

function moved(what: string): HoldfastError {
  return new HoldfastError(
    'UNAVAILABLE',
    `The directory of the store is not the one that was opened: ${what}. Mount it or move it back, then try again. No restart is needed.`,
    { details: { reason: 'store moved' } },
  )
}

/** The same disk, for paths below the directory. What looks up or changes a name checks the directory here, so that none of its callers can forget it. */
export function diskOf(directory: StoreDirectory, disk: Disk): Disk {
  const lookedUp = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } finally {
      // Also if nothing was found: in another directory that says nothing.
      await directory.check()
    }
  }
  const changed = async <T>(work: () => Promise<T>): Promise<T> => {
    await directory.check()
    try {
      return await work()
    } catch (error) {
      await directory.check()
      throw error
    }
  }
  const open: Disk['open'] = async (path, mode) => {
    let file: DiskFile | undefined
    try {
      return await lookedUp(async () => {
        file = await disk.open(path, mode)
        return file
      })
    } catch (error) {
      await file?.close().catch(() => undefined)
      throw error
    }
  }
  return {
    open: async (path, mode) => {
      if (mode === 'create') await directory.check()
      return open(path, mode)
    },
    list: (path) => lookedUp(() => disk.list(path)),
    syncDirectory: (path) => lookedUp(() => disk.syncDirectory(path)),
    makeDirectory: (path) => changed(() => disk.makeDirectory(path)),
    remove: (path) => changed(() => disk.remove(path)),
    rename: (from, to) => changed(() => disk.rename(from, to)),
    overwrite: (path, offset, was, bytes, sync) => changed(() => disk.overwrite(path, offset, was, bytes, sync)),
    statSync: (path) => disk.statSync(path),
    fileSystem: (path) => disk.fileSystem(path),
    bootId: () => disk.bootId(),
    watch: (path, hint) => disk.watch(path, hint),
  }
}
