/**
 * Backups of a store that is in use. A journal only grows, so any beginning of it that ends with a whole line is a journal that once was; a
 * backup is such a beginning of each. What a fork shares with another session was written before the fork began, so sessions are gone through
 * until a round finds no new one: then every session in the backup has in it all that it reaches.
 *
 * A file of the backup is written beside its place, synced, read back, and then put there. One that is there is only ever made longer: where
 * it has other bytes than the store, nobody knows here which of the two has rotted, so it is kept, and told. Nothing is ever removed from
 * a backup. If the process dies, the next backup goes on.
 *
 * Only what is true is copied: the segments and `holdfast.json`. Everything else is derived.
 */
import { dirname, join } from 'node:path'
import { KEY_SPACE, spaceName } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import { intactCrc, isBlank, splitLines } from '../../record/line.ts'
import type { Disk } from './disk.ts'
import { isMissing, unreadable, unwritable } from './failures.ts'
import { firstOf } from './names.ts'
import { nodeDisk } from './node-disk.ts'

export interface BackupOptions {
  readonly disk?: Disk
  readonly onProgress?: (done: BackedUp) => void
  readonly signal?: AbortSignal
  /** `sessions` unless told: the keys of an encrypted store are no part of a backup, so that one that is destroyed opens nothing there either. */
  readonly part?: 'sessions' | 'keys'
}

export interface BackedUp {
  readonly sessions: number
  /** Segments that were copied, wholly or in part, and those that were there already. */
  readonly copied: number
  readonly unchanged: number
  readonly copiedBytes: number
  /** Lines that are not what was written, in the store. */
  readonly damagedLines: number
  /** Segments of the backup with other bytes than the store. They are kept. */
  readonly differing: readonly string[]
}

const ROUNDS = 20

/** Copies what is in the store at `from`, and not yet in the backup at `to`. Sessions may be used meanwhile. */
export async function backUp(from: string, to: string, options: BackupOptions = {}): Promise<BackedUp> {
  const { disk = nodeDisk } = options
  if ((await entries(disk, from)).length === 0) throw new HoldfastError('NOT_FOUND', 'There is no store to back up.', { details: { from } })
  const run = new Backup(disk, from, to, options)
  for (let round = 0; round < ROUNDS; round++) if (!(await run.round())) return run.done
  throw new HoldfastError('UNAVAILABLE', 'Sessions are begun faster than they are backed up. Try again; what is copied stays.')
}

/** Makes a store of a backup, at a place where nothing is. It is there when it is whole. `keys`: where the keys of an encrypted one were copied to. */
export async function restoreBackup(
  from: string,
  to: string,
  { keys, ...options }: Omit<BackupOptions, 'part'> & { readonly keys?: string } = {},
): Promise<BackedUp> {
  const { disk = nodeDisk } = options
  if (!(await entries(disk, from)).includes('sessions'))
    throw new HoldfastError('NOT_FOUND', 'There is no backup here.', { details: { from } })
  if ((await entries(disk, to)).length > 0)
    throw new HoldfastError('CONFLICT', 'There is something where the store is to be. A backup is restored to a place where nothing is.')
  const beside = `${to.replace(/[/\\]+$/, '')}.restoring`
  const done = await backUp(from, beside, options)
  if (keys !== undefined) await backUp(keys, beside, { ...options, part: 'keys' })
  if (done.differing.length > 0)
    throw new HoldfastError('CONFLICT', `What an earlier attempt left at ${beside} is something else. Remove it.`)
  await disk.rename(beside, to)
  await disk.syncDirectory(dirname(to))
  return done
}

/** No segment, and not counted as one. */
const IDENTITY = 'holdfast.json'

class Backup {
  readonly #disk: Disk
  readonly #from: string
  readonly #to: string
  readonly #options: BackupOptions
  readonly #seen = new Set<string>()
  readonly #differing = new Set<string>()
  /** By their paths: each round looks at all of them again. */
  readonly #copied = new Set<string>()
  #unchanged = 0
  #copiedBytes = 0
  #damagedLines = 0

  constructor(disk: Disk, from: string, to: string, options: BackupOptions) {
    this.#disk = disk
    this.#from = from
    this.#to = to
    this.#options = options
  }

  get done(): BackedUp {
    return {
      sessions: this.#seen.size,
      copied: this.#copied.size,
      unchanged: this.#unchanged,
      copiedBytes: this.#copiedBytes,
      damagedLines: this.#damagedLines,
      differing: [...this.#differing],
    }
  }

  /** Goes through all journals once. True if there was one that the rounds before had not seen. */
  async round(): Promise<boolean> {
    this.#unchanged = 0
    this.#damagedLines = 0
    await makeDirectories(this.#disk, join(this.#to, 'sessions'))
    await this.#copy(IDENTITY)
    let isNew = false
    for await (const journal of journals(this.#disk, this.#from, this.#options.part ?? 'sessions')) {
      this.#options.signal?.throwIfAborted()
      if (!this.#seen.has(journal)) isNew = true
      this.#seen.add(journal)
      for (const file of (await entries(this.#disk, join(this.#from, journal))).sort()) {
        if (firstOf(file, 'jsonl') !== undefined) await this.#copy(`${journal}/${file}`)
      }
      this.#options.onProgress?.(this.done)
    }
    return isNew
  }

  async #copy(path: string): Promise<void> {
    const found = await read(this.#disk, join(this.#from, path))
    // Purged meanwhile.
    if (found === undefined) return
    const bytes = found.subarray(0, splitLines(found, 0).next)
    const kept = await read(this.#disk, join(this.#to, path))
    for (const line of splitLines(bytes, 0).lines) if (isRotten(line.bytes)) this.#damagedLines++
    if (kept?.equals(bytes) === true) {
      if (!this.#copied.has(path) && path !== IDENTITY) this.#unchanged++
      return
    }
    if (kept !== undefined && !(bytes.length > kept.length && bytes.subarray(0, kept.length).equals(kept))) {
      this.#differing.add(path)
      return
    }
    await this.#put(path, bytes)
    if (path !== IDENTITY) this.#copied.add(path)
    this.#copiedBytes += bytes.length - (kept?.length ?? 0)
  }

  async #put(path: string, bytes: Buffer): Promise<void> {
    const [place, beside] = [join(this.#to, path), join(this.#to, `${path}.tmp`)]
    await makeDirectories(this.#disk, dirname(place))
    try {
      await this.#disk.remove(beside).catch((error: unknown) => {
        if (!isMissing(error)) throw error
      })
      const file = await this.#disk.open(beside, 'create')
      try {
        for (let written = 0; written < bytes.length; ) written += await file.write(bytes.subarray(written))
        await file.sync()
        if (!(await file.read(0, bytes.length)).equals(bytes))
          throw new HoldfastError('UNAVAILABLE', `What was written to ${beside} is not what is read there.`)
      } finally {
        await file.close()
      }
      await this.#disk.rename(beside, place)
      await this.#disk.syncDirectory(dirname(place))
    } catch (error) {
      throw error instanceof HoldfastError ? error : unwritable(error, 'The backup')
    }
  }
}

/** What a writer that died left half-written ends with the space of the next lead-in, and is no damage. */
function isRotten(line: Uint8Array): boolean {
  return !isBlank(line) && line.at(-1) !== 0x20 && intactCrc(line) === undefined
}

/** Directories of journals, by their paths below the store. */
async function* journals(disk: Disk, root: string, which: 'sessions' | 'keys'): AsyncGenerator<string> {
  for (const space of await entries(disk, join(root, 'sessions'))) {
    if ((space === spaceName(KEY_SPACE)) !== (which === 'keys')) continue
    for (const part of await entries(disk, join(root, 'sessions', space))) {
      for (const name of await entries(disk, join(root, 'sessions', space, part))) yield `sessions/${space}/${part}/${name}`
    }
  }
}

/** Names in a directory; none if there is no such directory, or if it is a file. */
async function entries(disk: Disk, path: string): Promise<string[]> {
  return disk.list(path).catch((error: unknown) => {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return []
    throw unreadable(error, 'The store')
  })
}

async function read(disk: Disk, path: string): Promise<Buffer | undefined> {
  try {
    const file = await disk.open(path, 'read')
    try {
      return await file.read(0, file.stat().size)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw unreadable(error, path)
  }
}

/** A directory with those that lead to it, each of them durable. */
async function makeDirectories(disk: Disk, path: string): Promise<void> {
  const missing: string[] = []
  for (let at = path; dirname(at) !== at; at = dirname(at)) {
    const there = await disk.list(at).then(
      () => true,
      () => false,
    )
    if (there) break
    missing.unshift(at)
  }
  for (const directory of missing) {
    await disk.makeDirectory(directory)
    await disk.syncDirectory(dirname(directory))
  }
}
