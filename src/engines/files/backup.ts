/**
 * Backups of a store that is in use. A journal only grows, so any beginning of it that ends with a whole line is a journal that once was; a
 * backup is such a beginning of each. What a fork shares with another session was written before the fork began, so sessions are gone through
 * until a round finds no new one: then every session in the backup has in it all that it reaches.
 *
 * A file of the backup is written beside its place, synced, read back, and then put there. One that is there is only ever made longer: where
 * it has other bytes than the store, one of the two has rotted, so it is kept and reported. A session that continued after a loss was accepted
 * is another case: its copy is replaced as a whole (backup-replacement.ts). Nothing is ever removed from a backup. If the process dies, the
 * next backup completes the work.
 *
 * Only what is true is copied: the segments and `holdfast.json`. Everything else is derived.
 */
import { dirname, join } from 'node:path'
import { KEY_SPACE, spaceName } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import { intactCrc, isBlank, splitLines } from '../../record/line.ts'
import { invalid } from '../../session/check.ts'
import { entries, journals, makeDirectories, putFile, readWhole, segmentFiles } from './backup-files.ts'
import { finishReplacements, hasNewAcceptance, type Places, type ReplacedSession, Replacement } from './backup-replacement.ts'
import type { Disk } from './disk.ts'
import { nodeDisk } from './node-disk.ts'

export interface BackupOptions {
  /** @internal */
  readonly disk?: Disk
  readonly onProgress?: (done: BackedUp) => void
  readonly signal?: AbortSignal
  /** Defaults to `sessions`. A backup holds no data keys, so a key that is destroyed in the store opens nothing in the backup. */
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
  /** Sessions that continued after their damage was accepted. Their former copies were moved inside the backup. */
  readonly replaced: readonly ReplacedSession[]
}

interface RunOptions extends BackupOptions {
  /** False for a store that is made of a backup: an earlier attempt that left another history is a conflict. Defaults to true. */
  readonly replace?: boolean
}

/** `beginning`: the backup has a shorter file, or none. `other`: it has other bytes than the store. */
type Look = 'same' | 'beginning' | 'other'

const ROUNDS = 20

/**
 * Copies what is in the store at `from` and not yet in the backup at `to`. Sessions may be in use.
 *
 * @param options `part` defaults to `sessions`. With `keys`, it copies the keys of an encrypted store instead.
 * @returns What was copied, and what is damaged.
 * @throws HoldfastError NOT_FOUND when there is no store at `from`.
 * @throws HoldfastError UNAVAILABLE when sessions are created faster than they are copied. Try again: it continues.
 * @example
 * const { sessions } = await backUp('./store', './backup')
 */
export async function backUp(from: string, to: string, options: BackupOptions = {}): Promise<BackedUp> {
  checkDirectories(from, to)
  await finishReplacements(options.disk ?? nodeDisk, to)
  return copyNew(from, to, options)
}

async function copyNew(from: string, to: string, options: RunOptions): Promise<BackedUp> {
  const { disk = nodeDisk } = options
  if ((await entries(disk, from)).length === 0)
    throw new HoldfastError('NOT_FOUND', `There is no store to back up at ${from}.`, { details: { reason: 'no store', from } })
  const run = new Backup(disk, from, to, options)
  for (let round = 0; round < ROUNDS; round++) if (!(await run.round())) return run.done
  throw new HoldfastError('UNAVAILABLE', 'Sessions are begun faster than they are backed up. Try again; what is copied stays.')
}

/**
 * Makes a store from a backup, in a directory that is empty or does not exist. The store appears there when it is complete.
 *
 * @param options `keys` is the directory that the keys of an encrypted store were copied to.
 * @returns What was copied.
 * @throws HoldfastError NOT_FOUND when there is no backup at `from`.
 * @throws HoldfastError CONFLICT when there is something at `to`.
 * @example
 * await restoreBackup('./backup', './restored')
 */
export async function restoreBackup(
  from: string,
  to: string,
  { keys, ...options }: Omit<BackupOptions, 'part'> & { readonly keys?: string } = {},
): Promise<BackedUp> {
  checkDirectories(from, to)
  const { disk = nodeDisk } = options
  if (!(await entries(disk, from)).includes('sessions'))
    throw new HoldfastError('NOT_FOUND', `There is no backup at ${from}.`, { details: { reason: 'no backup', from } })
  if ((await entries(disk, to)).length > 0)
    throw new HoldfastError('CONFLICT', `There are files at ${to}. Restore the backup to an empty directory.`, {
      details: { reason: 'not empty' },
    })
  await finishReplacements(disk, from)
  const beside = `${to.replace(/[/\\]+$/, '')}.restoring`
  const done = await copyNew(from, beside, { ...options, replace: false })
  if (keys !== undefined) await copyNew(keys, beside, { ...options, part: 'keys', replace: false })
  if (done.differing.length > 0)
    throw new HoldfastError('CONFLICT', `What an earlier attempt left at ${beside} is something else. Remove it.`, {
      details: { reason: 'not empty' },
    })
  await disk.rename(beside, to)
  await disk.syncDirectory(dirname(to))
  return done
}

/** A store is easily given in place of its directory. */
export function checkDirectories(...paths: readonly unknown[]): void {
  for (const path of paths)
    if (typeof path !== 'string' || path === '')
      throw invalid('Give the paths of two directories: a backup is made from the files of a store.')
}

/** No segment, and not counted as one. */
const IDENTITY = 'holdfast.json'

class Backup {
  readonly #disk: Disk
  readonly #from: string
  readonly #to: string
  readonly #options: RunOptions
  readonly #places: Places
  readonly #replacement: Replacement
  readonly #replaced: ReplacedSession[] = []
  readonly #seen = new Set<string>()
  readonly #differing = new Set<string>()
  /** By their paths: each round looks at all of them again. */
  readonly #copied = new Set<string>()
  #unchanged = 0
  #copiedBytes = 0
  #damagedLines = 0

  constructor(disk: Disk, from: string, to: string, options: RunOptions) {
    this.#disk = disk
    this.#from = from
    this.#to = to
    this.#options = options
    this.#places = { disk, from, to }
    this.#replacement = new Replacement(this.#places)
  }

  get done(): BackedUp {
    return {
      sessions: this.#seen.size,
      copied: this.#copied.size,
      unchanged: this.#unchanged,
      copiedBytes: this.#copiedBytes,
      damagedLines: this.#damagedLines,
      differing: [...this.#differing],
      replaced: [...this.#replaced],
    }
  }

  /** Goes through all journals once. True if there was one that the rounds before had not seen. */
  async round(): Promise<boolean> {
    this.#unchanged = 0
    this.#damagedLines = 0
    await makeDirectories(this.#disk, join(this.#to, 'sessions'))
    await this.#copy(IDENTITY)
    let isNew = false
    for await (const journal of journals(this.#disk, this.#from)) {
      if (isKeys(journal) !== (this.#options.part === 'keys')) continue
      this.#options.signal?.throwIfAborted()
      if (!this.#seen.has(journal)) isNew = true
      this.#seen.add(journal)
      await this.#journal(journal)
      this.#options.onProgress?.(this.done)
    }
    return isNew
  }

  /**
   * The segments of one journal. All are compared before the first is written: segments of the history after a loss must never get next to
   * those of the history before it.
   */
  async #journal(journal: string): Promise<void> {
    const [found, kept] = [await this.#segments(this.#from, journal), await this.#segments(this.#to, journal)]
    const looks = new Map<string, Look>()
    for (const path of found) if (kept.includes(path)) looks.set(path, await this.#look(path))
    const isOther = [...looks.values()].includes('other') || kept.some((path) => !found.includes(path))
    if (isOther && this.#options.replace !== false && (await hasNewAcceptance(this.#places, journal))) return this.#replace(journal)
    for (const path of found) {
      const look = looks.get(path)
      if (look === 'other') this.#differing.add(path)
      else if (look !== 'same') await this.#copy(path)
      else if (!this.#copied.has(path)) this.#unchanged++
    }
  }

  async #segments(root: string, journal: string): Promise<string[]> {
    return (await segmentFiles(this.#disk, join(root, journal))).map((file) => `${journal}/${file}`)
  }

  /** How a file of the backup compares with that of the store. */
  async #look(path: string): Promise<Look> {
    const [bytes, kept] = [await this.#wholeLines(path), await readWhole(this.#disk, join(this.#to, path))]
    // Purged in the store since it was listed: there is nothing to copy.
    if (bytes === undefined || kept === undefined) return 'beginning'
    const look = kept.equals(bytes) ? 'same' : bytes.subarray(0, kept.length).equals(kept) ? 'beginning' : 'other'
    if (look !== 'beginning') this.#countDamage(bytes)
    return look
  }

  /** Copies a file that is missing or shorter in the backup. */
  async #copy(path: string): Promise<void> {
    const bytes = await this.#wholeLines(path)
    // Purged in the store since it was listed.
    if (bytes === undefined) return
    const kept = await readWhole(this.#disk, join(this.#to, path))
    this.#countDamage(bytes)
    if (kept?.equals(bytes) === true) return
    if (kept !== undefined && !(bytes.length > kept.length && bytes.subarray(0, kept.length).equals(kept))) {
      this.#differing.add(path)
      return
    }
    await putFile(this.#disk, join(this.#to, path), bytes)
    if (path !== IDENTITY) this.#copied.add(path)
    this.#copiedBytes += bytes.length - (kept?.length ?? 0)
  }

  async #replace(journal: string): Promise<void> {
    const put = (file: string, bytes: number): void => {
      this.#copied.add(`${journal}/${file}`)
      this.#copiedBytes += bytes
    }
    this.#replaced.push(await this.#replacement.run(journal, IDENTITY, put))
    for (const path of this.#differing) if (path.startsWith(`${journal}/`)) this.#differing.delete(path)
    for (const path of await this.#segments(this.#to, journal)) {
      const bytes = await readWhole(this.#disk, join(this.#to, path))
      if (bytes !== undefined) this.#countDamage(bytes)
    }
  }

  async #wholeLines(path: string): Promise<Buffer | undefined> {
    const found = await readWhole(this.#disk, join(this.#from, path))
    return found?.subarray(0, splitLines(found, 0).next)
  }

  #countDamage(bytes: Buffer): void {
    for (const line of splitLines(bytes, 0).lines) if (isRotten(line.bytes)) this.#damagedLines++
  }
}

/** What a writer that died left half-written ends with the space of the next lead-in, and is no damage. */
function isRotten(line: Uint8Array): boolean {
  return !isBlank(line) && line.at(-1) !== 0x20 && intactCrc(line) === undefined
}

function isKeys(journal: string): boolean {
  return journal.startsWith(`sessions/${spaceName(KEY_SPACE)}/`)
}
