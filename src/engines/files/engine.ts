/** The files engine: a store in a directory, for any number of processes on one machine, with no locks. docs/format.md describes what lies on the disk. */
import { dirname, join, resolve } from 'node:path'
import { Calls } from '../../engine/calls.ts'
import { type Clock, systemClock } from '../../engine/clock.ts'
import { type Ids, systemIds } from '../../engine/ids.ts'
import { isJournalName, journalName, spaceName } from '../../engine/names.ts'
import type { Changes, Engine, Journal, Oddity } from '../../engine/port.ts'
import type { KeysOf } from '../../record/key-hash.ts'
import { LIMITS, type Limits } from '../../record/limits.ts'
import { Directories } from './directories.ts'
import type { Disk } from './disk.ts'
import { Exclusive } from './exclusive.ts'
import { isMissing, isReadOnly, unreadable, unwritable } from './failures.ts'
import { Feed } from './feed.ts'
import { IdIndexes } from './id-indexes.ts'
import { identify } from './identity.ts'
import { inspectStore } from './inspect.ts'
import { FilesJournal, type JournalParts } from './journal.ts'
import { blockingDisk, nodeDisk } from './node-disk.ts'
import { OpenSegments } from './open-segments.ts'
import { requirePromise } from './promise.ts'
import { Reserve } from './reserve.ts'
import { Watermarks } from './watermarks.ts'

export interface FilesEngineOptions {
  readonly directory: string
  /** Which keys a record holds, for the id files. */
  readonly keysOf: KeysOf
  /** For one process alone, on a file system that does not keep appends of several in one order. */
  readonly exclusive?: boolean
  readonly disk?: Disk
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
    disk = mayBlock ? blockingDisk : nodeDisk,
    clock = systemClock,
    ids = systemIds,
    keysOf,
    exclusive = false,
  } = options
  const limits = { ...LIMITS, ...options.limits }
  const root = resolve(options.directory)
  await makeRoot(disk, root)
  // What does not depend on each other is done at once: a command that runs for a moment waits for this each time.
  await Promise.all([exclusive ? undefined : requirePromise(disk, root), syncAncestors(disk, root)])
  const { store, warnings } = await identify(disk, root, ids.next(clock.now()), new Date(clock.now()).toISOString())
  const reserve = new Reserve(disk, root, limits.reserveBytes)
  const directory = join(root, 'feed')
  const [filled, feed] = await Promise.all([
    reserve.fill(),
    Feed.open({ disk, clock, ids, directory, fileBytes: limits.feedBytes, files: limits.feedFiles, isName: isJournalName }).catch(
      (error: unknown) => {
        throw unreadable(error, 'The feed of the store')
      },
    ),
  ])
  if (!filled)
    warnings.push('The reserve that lets a full store be emptied could not be made: the disk is full, or the store may only be read here.')
  const directories = new Directories(disk, root)
  const watermarks = new Watermarks({
    ...{ disk, clock, ids, directory: join(root, 'watermarks') },
    origin: { store, boot: await disk.bootId() },
    ...{ shards: limits.watermarkShards, compactBytes: limits.watermarkBytes },
  })
  // Only a real disk has a place for others than this engine.
  return new FilesEngine(warnings, disk === nodeDisk || disk === blockingDisk ? root : undefined, {
    disk,
    ids,
    keysOf,
    root,
    directories,
    segments: new OpenSegments(disk, directories, limits.openSegments),
    indexes: new IdIndexes(limits.idCacheBytes),
    feed,
    reserve,
    watermarks,
    exclusive: exclusive ? await Exclusive.claim(disk, root, ids.next(clock.now())) : undefined,
    syncWriteBytes: limits.syncWriteBytes,
    readBytes: limits.readBytes,
  })
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

class FilesEngine implements Engine {
  readonly supports = { durable: true, shared: true }
  readonly warnings: readonly string[]
  readonly directory?: string
  readonly #parts: JournalParts
  readonly #calls = new Calls()

  constructor(warnings: readonly string[], directory: string | undefined, parts: Omit<JournalParts, 'track'>) {
    this.warnings = warnings
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
