/** The files engine: a store in a directory, for any number of processes on one machine, with no locks. docs/format.md describes what lies on the disk. */
import { dirname, join, resolve } from 'node:path'
import { Calls } from '../../engine/calls.ts'
import { type Clock, systemClock } from '../../engine/clock.ts'
import { type Ids, systemIds } from '../../engine/ids.ts'
import { isJournalName, journalName, spaceName } from '../../engine/names.ts'
import type { Changes, Engine, Journal, Oddity } from '../../engine/port.ts'
import type { KeysOf } from '../../record/key-hash.ts'
import { LIMITS, type Limits } from '../../record/limits.ts'
import { requireAppendOrder } from './append-order.ts'
import { Directories } from './directories.ts'
import type { Disk } from './disk.ts'
import { Exclusive } from './exclusive.ts'
import { isMissing, isReadOnly, unreadable, unwritable } from './failures.ts'
import { Feed } from './feed.ts'
import { IdIndexes } from './id-indexes.ts'
import { type Identified, identify } from './identity.ts'
import { inspectStore } from './inspect.ts'
import { FilesJournal, type JournalParts } from './journal.ts'
import { blockingDisk, nodeDisk } from './node-disk.ts'
import { OpenSegments } from './open-segments.ts'
import { patientDisk } from './patient-disk.ts'
import { Reserve } from './reserve.ts'
import { diskOf, requireStore, StoreDirectory } from './store-directory.ts'
import { Watermarks } from './watermarks.ts'

export interface FilesEngineOptions {
  readonly directory: string
  /** Which keys a record holds, for the id files. */
  readonly keysOf: KeysOf
  /** For one process alone, on a file system that does not keep appends of several in one order. */
  readonly exclusive?: boolean
  readonly disk?: Disk
  /** Files that it may hold open at once. Defaults to as many as a process alone with one store may have. */
  readonly files?: number
  /** The id of the store that is expected: UNAVAILABLE if the directory holds another one or none, and nothing is created then. */
  readonly expected?: string | undefined
  /** This thread does nothing else: it may wait for the disk. */
  readonly mayBlock?: boolean
  readonly clock?: Clock
  readonly ids?: Ids
  readonly limits?: Partial<
    Pick<
      Limits,
      'openSegments' | 'idCacheBytes' | 'syncWriteBytes' | 'readBytes' | 'reserveBytes' | 'feedBytes' | 'feedFiles' | 'watermarkBytes'
    >
  >
}

export async function openFilesEngine(options: FilesEngineOptions): Promise<Engine> {
  const {
    mayBlock = false,
    disk: plainDisk = mayBlock ? blockingDisk : nodeDisk,
    files = LIMITS.descriptors,
    clock = systemClock,
    ids = systemIds,
    keysOf,
    exclusive = false,
    expected,
  } = options
  const limits = { ...LIMITS, ...options.limits }
  const root = resolve(options.directory)
  const shares = shareFiles(files)
  // What may be closed for others is made further below. Until then, nothing is open.
  const kept: Relievable[] = []
  const patient = patientDisk(plainDisk, clock, async () => void (await Promise.all(kept.map((one) => one.relieve()))))
  const { store, file, warnings } = await identified(patient, root, { expected, exclusive, clock, ids })
  const directory = new StoreDirectory(patient, root, { store, file })
  const disk = diskOf(directory, patient)
  const reserve = new Reserve(disk, clock, root, limits.reserveBytes)
  const [filled, feed] = await Promise.all([
    reserve.fill(),
    Feed.open({
      disk,
      clock,
      ids,
      directory: join(root, 'feed'),
      fileBytes: limits.feedBytes,
      files: limits.feedFiles,
      isName: isJournalName,
    }).catch((error: unknown) => {
      throw unreadable(error, 'The feed of the store')
    }),
  ])
  if (!filled)
    warnings.push('The reserve that lets a full store be emptied could not be made: the disk is full, or the store may only be read here.')
  const directories = new Directories(disk, root)
  const watermarks = new Watermarks({
    ...{ disk, clock, ids, directory: join(root, 'watermarks') },
    origin: { store, boot: await disk.bootId() },
    ...{ shards: Math.min(limits.watermarkShards, shares.watermarkShards), compactBytes: limits.watermarkBytes },
  })
  const segments = new OpenSegments(disk, directories, Math.min(limits.openSegments, shares.segments))
  const indexes = new IdIndexes(limits.idCacheBytes, shares.idFiles)
  kept.push(segments, indexes, watermarks)
  directory.onSucceeded(() => {
    directories.forgetAll()
    void feed.close()
    void indexes.close()
  })
  const parts = {
    disk,
    ids,
    clock,
    keysOf,
    root,
    directories,
    segments,
    indexes,
    feed,
    reserve,
    watermarks,
    exclusive: exclusive ? await Exclusive.claim(disk, root, ids.next(clock.now())) : undefined,
    syncWriteBytes: limits.syncWriteBytes,
    readBytes: limits.readBytes,
  }
  // Only a real disk has a place for others than this engine.
  const place = plainDisk === nodeDisk || plainDisk === blockingDisk ? root : undefined
  return new FilesEngine({ warnings, store, directory: place, check: () => directory.check(), calls: new Calls(shares.calls) }, parts)
}

interface Identifying extends Required<Pick<FilesEngineOptions, 'exclusive' | 'clock' | 'ids'>> {
  readonly expected: string | undefined
}

/** Which store is in a directory. Makes the directory, and a new store in it, unless a certain one is expected there. */
async function identified(disk: Disk, root: string, { expected, exclusive, clock, ids }: Identifying): Promise<Identified> {
  if (expected !== undefined) {
    const file = await requireStore(disk, root, expected)
    await requireAppendOrder(disk, root)
    return { store: expected, file, warnings: [] }
  }
  await makeRoot(disk, root)
  // What does not depend on each other is done at once: a command that runs for a moment waits for this each time.
  await Promise.all([exclusive ? undefined : requireAppendOrder(disk, root), syncAncestors(disk, root)])
  return identify(disk, root, ids.next(clock.now()), new Date(clock.now()).toISOString())
}

interface Relievable {
  relieve(): Promise<void>
}

/** What an engine holds open of each kind. A call holds a segment or two, and opens one more file or directory for a moment. */
function shareFiles(files: number): { calls: number; segments: number; idFiles: number; watermarkShards: number } {
  const part = (of: number, fewest: number, most: number): number => Math.min(most, Math.max(fewest, Math.floor(files / of)))
  const [calls, idFiles, watermarkShards] = [part(6, 2, 128), part(8, 2, 64), part(8, 1, 64)]
  return { calls, idFiles, watermarkShards, segments: Math.max(calls, files - calls - idFiles - watermarkShards) }
}

/** Makes the store's directory, with those that lead to it. */
async function makeRoot(disk: Disk, root: string): Promise<void> {
  const exists = await disk.list(root).then(
    () => true,
    (error: unknown) => {
      if (!isMissing(error)) throw unreadable(error, 'The store')
      return false
    },
  )
  if (exists) return
  try {
    for (const path of [...ancestorsOf(root).slice(1), root]) await disk.makeDirectory(path)
  } catch (error) {
    throw unwritable(error, 'The store')
  }
}

/** Makes the names that lead to the store durable. Also if they were there: another process may have made them just now, and died. */
async function syncAncestors(disk: Disk, root: string): Promise<void> {
  const sync = (path: string): Promise<void> =>
    disk.syncDirectory(path).catch((error: unknown) => {
      // A directory that may not be read was not made by us.
      if (!isReadOnly(error)) throw unwritable(error, 'The store')
    })
  await Promise.all(ancestorsOf(root).map(sync))
}

/** From the top down. */
function ancestorsOf(root: string): string[] {
  const ancestors: string[] = []
  for (let path = root; dirname(path) !== path; path = dirname(path)) ancestors.unshift(dirname(path))
  return ancestors
}

interface Facts {
  readonly warnings: readonly string[]
  readonly store: string
  readonly directory: string | undefined
  readonly check: () => Promise<number>
  readonly calls: Calls
}

class FilesEngine implements Engine {
  readonly supports = { durable: true, shared: true }
  readonly warnings: readonly string[]
  readonly directory?: string
  readonly storeId: string
  readonly checkDirectory: () => Promise<number>
  readonly #parts: JournalParts
  readonly #calls: Calls

  constructor({ warnings, store, directory, check, calls }: Facts, parts: Omit<JournalParts, 'track'>) {
    this.warnings = warnings
    this.#calls = calls
    this.storeId = store
    this.checkDirectory = check
    if (directory !== undefined) this.directory = directory
    this.#parts = { ...parts, track: (work) => this.#calls.track(work) }
  }

  name(space: string, id: string): string {
    return journalName(space, id)
  }

  journal(name: string): Journal {
    if (!isJournalName(name)) throw new TypeError(`"${name}" is not the name of a journal. Names come from name() and names().`)
    return new FilesJournal(name, this.#parts)
  }

  async *names(space?: string): AsyncGenerator<string> {
    const sessions = join(this.#parts.root, 'sessions')
    for (const spaceDirectory of space === undefined ? await this.#list(sessions) : [spaceName(space)]) {
      for (const part of await this.#list(join(sessions, spaceDirectory))) {
        for (const directory of await this.#list(join(sessions, spaceDirectory, part))) {
          const name = `${spaceDirectory}/${part}/${directory}`
          if (isJournalName(name)) yield name
        }
      }
    }
    yield* this.#vanishedNames(sessions, space)
  }

  /** Journals whose directory vanished, but not their watermarks. */
  async *#vanishedNames(sessions: string, space: string | undefined): AsyncGenerator<string> {
    const wanted = space === undefined ? undefined : spaceName(space)
    for await (const { shard, names } of this.#parts.watermarks.names()) {
      const spaces = new Set(names.map((name) => name.slice(0, 32)).filter((hash) => wanted === undefined || hash === wanted))
      for (const hash of spaces) {
        const there = new Set(await this.#list(join(sessions, hash, shard)))
        const here = new Set(names.filter((name) => name.startsWith(`${hash}/`) && !there.has(name.slice(36))))
        for (const name of here) if (isJournalName(name)) yield name
      }
    }
  }

  changes(cursor?: string): Promise<Changes> {
    return this.#calls.track(() => this.#parts.feed.changes(cursor))
  }

  latest(): number | Promise<number> {
    this.#calls.refuseClosed()
    const latest = this.#parts.feed.latest()
    return typeof latest === 'number' ? latest : this.#calls.track(() => latest)
  }

  watch(hint: () => void): () => void {
    this.#calls.refuseClosed()
    return this.#parts.feed.watch(hint)
  }

  inspect(name?: string): AsyncGenerator<Oddity> {
    this.#calls.refuseClosed()
    return name === undefined ? inspectStore(this.#parts) : new FilesJournal(name, this.#parts).inspect()
  }

  rederive(name: string): Promise<void> {
    return new FilesJournal(name, this.#parts).rederive()
  }

  async close(): Promise<void> {
    await this.#calls.close()
    await this.#parts.watermarks.close()
    await this.#parts.indexes.close()
    await this.#parts.segments.close()
    await this.#parts.feed.close()
  }

  async #list(path: string): Promise<string[]> {
    return this.#calls.track(async () => {
      try {
        return await this.#parts.disk.list(path)
      } catch (error) {
        // Files that are not Holdfast's may lie about.
        if (isMissing(error)) return []
        throw unreadable(error, 'The store')
      }
    })
  }
}
