/**
 * The segments that this process holds open: at most so many, and fewer while the system has none to give. The longest unused one is closed first, and not
 * before what was written to it is synced. Remembers which files a sync has failed on, also after they were closed: the system reports a failure only to
 * files that were open by then.
 */
import { dirname } from 'node:path'
import type { Directories } from './directories.ts'
import type { Disk } from './disk.ts'
import { isMissing, isReadOnly, replaced, unreadable, unwritable } from './failures.ts'
import { segmentFile } from './names.ts'
import { type ClosedFile, type Poison, Segment } from './segment.ts'

/** So many are held however few files the system gives: below that, something else holds them. */
const FEWEST = 2
/** After the system had none to give, one more is held with each of so many that it gives. */
const OPENED_PER_MORE = 8
/** Files of which it is remembered what they were when they were closed. */
const REMEMBERED = 4096

export class OpenSegments {
  readonly #disk: Disk
  readonly #directories: Directories
  readonly #most: number
  /** Below the most while the system has few to give. */
  #limit: number
  /** Opened since the system had none to give. */
  #openedSince = 0
  /** In order of use. */
  readonly #open = new Map<string, Segment>()
  /** The one that was used last. */
  #latest: Segment | undefined
  readonly #opening = new Map<string, Promise<Segment | undefined>>()
  readonly #poisoned = new Map<string, Poison>()
  /** Closed to make room, the longest ago first. */
  readonly #closed = new Map<string, ClosedFile>()

  constructor(disk: Disk, directories: Directories, limit: number) {
    this.#disk = disk
    this.#directories = directories
    this.#most = limit
    this.#limit = limit
  }

  /** Takes hold of the segment if it is open already: for calls that must not leave the thread. */
  holdNow(directory: string, first: number): Segment | undefined {
    const path = pathOf(directory, first)
    const segment = this.#open.get(path)
    if (segment === undefined) return undefined
    if (segment !== this.#latest) {
      this.#open.delete(path)
      this.#open.set(path, segment)
      this.#latest = segment
    }
    return segment.hold()
  }

  /** Opens a segment and takes hold of it, until `release`; undefined if there is none and it shall not be made. */
  async hold(directory: string, first: number, create = false): Promise<Segment | undefined> {
    for (;;) {
      const known = this.holdNow(directory, first)
      if (known !== undefined) return known
      const path = pathOf(directory, first)
      let opening = this.#opening.get(path)
      if (opening === undefined) {
        opening = this.#openNow(path, directory, first, create).finally(() => this.#opening.delete(path))
        this.#opening.set(path, opening)
        const segment = await opening
        if (segment === undefined || !segment.closed) return segment
        segment.release()
      } else if ((await opening) === undefined && !create) return undefined
    }
  }

  /** Closes the file of a segment whose sync failed, or that was purged; the next call opens it anew, still marked. */
  discard(directory: string, segment: Segment): void {
    const path = pathOf(directory, segment.first)
    if (segment.poison !== undefined) this.#poisoned.set(path, segment.poison)
    if (this.#open.get(path) === segment) this.#open.delete(path)
    void segment.close()
  }

  /** Segments that have a successor are never synced again; nothing needs to be remembered of those before it. */
  forgetBefore(directory: string, successor: number): void {
    const path = pathOf(directory, successor)
    for (const earlier of this.#poisoned.keys()) if (dirname(earlier) === directory && earlier < path) this.#poisoned.delete(earlier)
  }

  /** Closes the open segments of one directory, or all. */
  async close(directory?: string): Promise<void> {
    for (const [path, segment] of [...this.#open]) {
      if (directory !== undefined && dirname(path) !== directory) continue
      this.#open.delete(path)
      await segment.close()
    }
  }

  /** Opens it, and holds it for the caller: others that are opened in this moment would have it closed. */
  async #openNow(path: string, directory: string, first: number, create: boolean): Promise<Segment | undefined> {
    // Before it is opened, not after: at the limit of the process there is no descriptor for both.
    await this.#evict(1)
    let writable = true
    const mode = create ? 'create' : 'append'
    const file = await this.#disk
      .open(path, mode)
      .catch((error: unknown) => {
        if (!isReadOnly(error)) throw error
        writable = false
        return this.#disk.open(path, 'read')
      })
      .catch((error: unknown) => {
        if (isMissing(error) && !create) return undefined
        throw unreadable(error, 'The journal')
      })
    if (file === undefined) return undefined
    const segment = new Segment({
      ...{ first, file, path, writable, directory },
      ...{ disk: this.#disk, directories: this.#directories, poison: this.#poisoned.get(path), before: this.#closed.get(path) },
    })
    this.#closed.delete(path)
    if (create) await this.#requirePlace(path, directory, segment)
    this.#open.set(path, segment.hold())
    this.#latest = segment
    this.#raiseLimit()
    return segment
  }

  /**
   * Throws if the segment before a new one is no longer where it was: the directory of another session may have taken the place of this one. The new file
   * is removed then, because the other session would be damaged by it when its directory is put back.
   */
  async #requirePlace(path: string, directory: string, made: Segment): Promise<void> {
    try {
      if (made.ownEnd > made.first) return
      const earlier = [...this.#open].filter(([other, { first }]) => first < made.first && other.startsWith(`${directory}/`))
      const [before] = earlier.map(([, segment]) => segment).sort((a, b) => b.first - a.first)
      if (before === undefined || before.end !== undefined) return
      if (made.end === made.first) await this.#disk.remove(path)
      throw replaced()
    } catch (error) {
      await made.close()
      throw unwritable(error, 'The journal')
    }
  }

  /** The system has no more files to give: closes half of these, as far as nobody uses them, and holds that many for a while. */
  relieve(): Promise<void> {
    this.#limit = Math.min(this.#most, Math.max(FEWEST, Math.floor(this.#open.size / 2)))
    this.#openedSince = 0
    return this.#evict()
  }

  #raiseLimit(): void {
    if (this.#limit < this.#most && ++this.#openedSince % OPENED_PER_MORE === 0) this.#limit++
  }

  /** Closes the longest unused ones, as far as these and so many more are too many. */
  async #evict(more = 0): Promise<void> {
    const closing: Promise<void>[] = []
    let tooMany = this.#open.size + this.#opening.size + more - this.#limit
    for (const [path, segment] of this.#open) {
      if (tooMany <= 0) break
      if (segment.inUse) continue
      tooMany--
      closing.push(segment.isUnsynced ? this.#syncAndClose(path, segment) : this.#close(path, segment))
    }
    await Promise.all(closing)
  }

  /** Whoever uses it meanwhile keeps it open, and so does a sync that could not even be tried. */
  async #syncAndClose(path: string, segment: Segment): Promise<void> {
    segment.hold()
    const isDone = await segment.sync().then(
      () => true,
      () => segment.poisoned,
    )
    segment.release()
    if (segment.poison !== undefined) this.#poisoned.set(path, segment.poison)
    if (isDone && !segment.inUse) await this.#close(path, segment)
  }

  #close(path: string, segment: Segment): Promise<void> {
    if (this.#open.get(path) === segment) this.#open.delete(path)
    const { closedFile } = segment
    if (closedFile !== undefined) this.#remember(path, closedFile)
    return segment.close()
  }

  #remember(path: string, file: ClosedFile): void {
    this.#closed.set(path, file)
    for (const oldest of this.#closed.keys()) {
      if (this.#closed.size <= REMEMBERED) return
      this.#closed.delete(oldest)
    }
  }
}

/** Asked for at each append, and the directory is a clean path already: there is nothing for `join` to do. */
function pathOf(directory: string, first: number): string {
  return `${directory}/${segmentFile(first)}`
}
