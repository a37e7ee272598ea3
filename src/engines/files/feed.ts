/**
 * The feed: which journal changed, so that other processes notice without looking at all of them. Derived and never synced: after a
 * restart of the machine it is not trusted.
 *
 *     feed/epoch.<boot>.<random>                an empty file whose name is the epoch
 *     feed/<8 digits>.<random>.jsonl            lines of ["<journal name>","<its crc>"]; the highest number is written to. The last line of
 *                                               each write also has a time (feed-times.ts)
 *
 * A line that rotted could name another journal, or none: it has a checksum, and whoever meets one that does not fit looks everywhere. Lines of software
 * that wrote none are taken as they are.
 * A cursor is an epoch, and of each file an offset and a checksum of the bytes before it. One that names another epoch, or a file that was trimmed, cut or
 * replaced, may have missed something and is answered with a reset. So is one that meets the end of a file without a newline: a line may be there. Writers announce before they acknowledge; one that cannot announce starts a new epoch instead, which
 * takes a rename and therefore no space. Where no epoch of this boot is and none can be made (a read-only mount, a full disk after a
 * restart), the store can be read all the same, and every answer is a reset.
 */
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Clock } from '../../engine/clock.ts'
import type { Ids } from '../../engine/ids.ts'
import type { Changes } from '../../engine/port.ts'
import { withOutcomeUnknown } from '../../errors.ts'
import { splitLines } from '../../record/line.ts'
import type { Disk, DiskFile } from './disk.ts'
import { isMissing, isStrange, unreadable, unwritable } from './failures.ts'
import { FeedTimes, timeFields } from './feed-times.ts'

interface FeedOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly ids: Ids
  readonly directory: string
  readonly fileBytes: number
  readonly files: number
  /** Whether a journal can have this name. A line that rotted may say anything. */
  readonly isName: (name: string) => boolean
}

interface Cursor {
  readonly epoch: string
  /** An offset alone in cursors of software that wrote no checksum. */
  readonly files: Readonly<Record<string, Offset | number>>
}

/** How far a file was read, and a checksum of the bytes before that: a file that was cut can grow beyond it again. */
type Offset = readonly [offset: number, before: number]

/** So many bytes have the checksum: at least one line, with its time. */
const BEFORE_BYTES = 256

export class Feed {
  readonly #options: FeedOptions
  readonly #boot: string
  #file: DiskFile | undefined
  /** That file holds enough: the next line goes to another one. */
  #full = false
  /** Another program cut that file: announcements are lost, so a new epoch is due. */
  #isCut = false
  /** Names that are about to be announced, and when they are. */
  readonly #waiting = new Set<string>()
  #announcing: Promise<void> | undefined
  readonly #times = new FeedTimes()
  /** Opening another file is done by one call at a time. */
  #turn: Promise<void> = Promise.resolve()

  private constructor(options: FeedOptions, boot: string) {
    this.#options = options
    this.#boot = boot
  }

  static async open(options: FeedOptions): Promise<Feed> {
    const feed = new Feed(options, (await options.disk.bootId()).replace(/[^0-9a-zA-Z-]/g, '-'))
    await feed.#names()
    return feed
  }

  /** Tells others that a journal changed: to be waited for before acknowledging. What is announced in one go is written in one go. */
  announce(name: string, time = 0): Promise<void> {
    this.#waiting.add(name)
    this.#times.add(time)
    this.#announcing ??= Promise.resolve().then(() => this.#announceWaiting())
    return this.#announcing
  }

  /** A write takes as long for many lines as for one: of sessions that are appended to together, all are told in one. */
  #announceWaiting(): Promise<void> | undefined {
    const { latest } = this.#times
    const last = latest === 0 ? '' : timeFields(latest)
    const names = [...this.#waiting]
    const text = names.map((name, i) => `\n["${name}","${checksumOf(name)}"${i === names.length - 1 ? last : ''}]\n`)
    const lines = Buffer.from(text.join(''))
    this.#waiting.clear()
    this.#announcing = undefined
    if (this.#written(lines)) return undefined
    const turn = this.#turn.then(() => this.#announceAnew(lines))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  /**
   * The latest time that was announced by any process. If the feed cannot be read, the latest that this process knows: the order of lists is all
   * that rests on it.
   */
  latest(): number | Promise<number> {
    const file = this.#file
    try {
      const { size, links } = file?.stat() ?? { size: 0, links: 0 }
      if (file === undefined || links === 0 || size > this.#options.fileBytes) return this.#latestInNewest()
      this.#times.catchUp(file, size)
    } catch {
      // Nothing tells how far others are.
    }
    return this.#times.latest
  }

  async changes(cursor?: string): Promise<Changes> {
    try {
      const listed = await this.#names()
      const epoch = this.#epoch(listed)
      const before = parseCursor(cursor)
      const files = feedFiles(listed)
      let reset = epoch === '' || before?.epoch !== epoch || Object.keys(before.files).some((file) => !files.includes(file))
      const names = new Set<string>()
      const ends: Record<string, Offset> = {}
      for (const file of files) {
        const part = await this.#readFile(file, reset ? undefined : (before?.files[file] ?? [0, 0]))
        if (part === undefined || part.broken) reset = true
        if (part === undefined) continue
        ends[file] = part.end
        for (const name of part.names) names.add(name)
      }
      const next: Cursor = { epoch, files: ends }
      return { cursor: Buffer.from(JSON.stringify(next)).toString('base64url'), names: reset ? [] : [...names], reset }
    } catch (error) {
      throw unreadable(error, 'The feed of the store')
    }
  }

  watch(hint: () => void): () => void {
    try {
      return this.#options.disk.watch(this.#options.directory, hint)
    } catch (error) {
      // A store that was never written here has no feed, and nothing to hint at.
      if (!isMissing(error)) throw error
      return () => undefined
    }
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.close().catch(() => undefined)
  }

  /** Writes a line, if there is an open file and it still is the one to write to. */
  #written(line: Buffer): boolean {
    const file = this.#file
    if (file === undefined || this.#full) return false
    try {
      if (file.writeSync(line) !== line.length) return false
      const { size, links } = file.stat()
      this.#isCut ||= !this.#times.wrote(line.length, size)
      this.#full = size > this.#options.fileBytes
      // A file that was trimmed meanwhile is read by nobody. What was cut off may have been read by nobody either.
      return links > 0 && !this.#isCut
    } catch {
      return false
    }
  }

  async #announceAnew(line: Buffer): Promise<void> {
    if (this.#written(line)) return
    await this.close()
    const { disk, directory } = this.#options
    try {
      await this.#take(await this.#openFile(feedFiles(await disk.list(directory))))
      if (this.#written(line)) return
    } catch {
      // Whatever the reason, the line is not in the feed: below.
    }
    try {
      await this.#startEpoch()
      this.#isCut = false
    } catch (error) {
      throw withOutcomeUnknown(unwritable(error, 'The feed of the store'))
    }
  }

  async #take(file: DiskFile): Promise<void> {
    await this.close()
    this.#file = file
    this.#full = false
    this.#times.open(file)
  }

  /** Opens the newest file, which is written to if it has room, and reads the times in it. If it is empty, the one before it has the latest. */
  #latestInNewest(): Promise<number> {
    this.#turn = this.#turn.then(() => this.#openNewest()).catch(() => undefined)
    return this.#turn.then(() => this.#times.latest)
  }

  async #openNewest(): Promise<void> {
    const { disk, directory, fileBytes } = this.#options
    const [newest, before] = feedFiles(await this.#list()).reverse()
    if (newest === undefined) return
    if (before !== undefined && this.#times.latest === 0) {
      const file = await disk.open(join(directory, before), 'read')
      try {
        this.#times.open(file)
      } finally {
        await file.close()
      }
    }
    await this.#take(await disk.open(join(directory, newest), 'append'))
    this.#full = (this.#file?.stat().size ?? 0) > fileBytes
  }

  /** The newest file, or a new one if that is full; the oldest ones are trimmed then. */
  async #openFile(files: string[]): Promise<DiskFile> {
    const { disk, clock, ids, directory, fileBytes } = this.#options
    const newest = files.at(-1)
    if (newest !== undefined) {
      const file = await disk.open(join(directory, newest), 'append')
      try {
        if (file.stat().size <= fileBytes) return file
      } catch (error) {
        await file.close()
        throw error
      }
      await file.close()
    }
    const number = newest === undefined ? 0 : Number(newest.slice(0, 8)) + 1
    const file = await disk.open(join(directory, `${String(number).padStart(8, '0')}.${ids.next(clock.now())}.jsonl`), 'create')
    for (const old of files.slice(0, Math.max(0, files.length + 1 - this.#options.files))) await this.#remove(old)
    return file
  }

  /** Names in the feed's directory, with an epoch of this boot if one can be begun. If not, nobody is told anything but to look everywhere. */
  async #names(): Promise<string[]> {
    const names = await this.#list()
    if (this.#epoch(names) !== '') return names
    return this.#startEpoch().then(
      () => this.#list(),
      () => names,
    )
  }

  async #list(): Promise<string[]> {
    return this.#options.disk.list(this.#options.directory).catch((error: unknown) => {
      if (isMissing(error)) return []
      throw error
    })
  }

  async #startEpoch(): Promise<void> {
    const { disk, ids, directory } = this.#options
    await disk.makeDirectory(directory)
    const epochs = (await disk.list(directory)).filter((name) => name.startsWith('epoch.'))
    const fresh = join(directory, `epoch.${this.#boot}.${ids.hex(16)}`)
    const [current, ...others] = epochs
    if (current === undefined) await (await disk.open(fresh, 'create')).close()
    else {
      await disk.rename(join(directory, current), fresh).catch(async (error: unknown) => {
        // Another process has just started a new epoch from the same one.
        if (!isMissing(error)) throw error
        await (await disk.open(fresh, 'create')).close()
      })
    }
    for (const other of others) await this.#remove(other)
  }

  #epoch(names: readonly string[]): string {
    const prefix = `epoch.${this.#boot}.`
    const epochs = names.filter((name) => name.startsWith('epoch.')).sort()
    // An epoch of another boot beside ours means that somebody is about to remove it, and the name changes once more.
    return epochs.some((name) => name.startsWith(prefix)) ? epochs.join(' ') : ''
  }

  async #remove(file: string): Promise<void> {
    await this.#options.disk.remove(join(this.#options.directory, file)).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
  }

  /** Names announced from an offset on, or only the end if there is none. Undefined if the file is missing, or is no file. */
  async #readFile(
    name: string,
    offset: Offset | number | undefined,
  ): Promise<{ names: string[]; end: Offset; broken: boolean } | undefined> {
    const { disk, directory } = this.#options
    let file: DiskFile | undefined
    try {
      file = await disk.open(join(directory, name), 'read')
      const size = file.stat().size
      const [from, before] = typeof offset === 'number' ? [offset] : (offset ?? [size])
      const start = Math.max(0, Math.min(from, size) - BEFORE_BYTES)
      const bytes = await file.read(start, size - start)
      const isCut = size < from || (before !== undefined && crc32(bytes.subarray(0, from - start)) !== before)
      const { lines, next } = splitLines(bytes.subarray(from - start), from)
      const said = lines.filter((line) => line.bytes.length > 0).map((line) => parseLine(line.bytes))
      const names = said.filter((name) => name !== undefined).filter(this.#options.isName)
      // Half a line may be a whole one that rotted. If more of it comes, that is no line either, and the answer is a reset once more.
      const end: Offset = [start + bytes.length, crc32(bytes.subarray(-BEFORE_BYTES))]
      return { names, end, broken: isCut || names.length < said.length || next < end[0] }
    } catch (error) {
      if (isMissing(error) || isStrange(error)) return undefined
      throw error
    } finally {
      await file?.close()
    }
  }
}

function feedFiles(names: readonly string[]): string[] {
  return names.filter((name) => /^\d{8}\..*\.jsonl$/.test(name)).sort()
}

function parseLine(bytes: Uint8Array): string | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    if (!Array.isArray(value) || typeof value[0] !== 'string') return undefined
    const [name, checksum = checksumOf(name)] = value as [string, string?]
    return checksum === checksumOf(name) ? name : undefined
  } catch {
    return undefined
  }
}

function checksumOf(name: string): string {
  return crc32(name).toString(16).padStart(8, '0')
}

function parseCursor(cursor: string | undefined): Cursor | undefined {
  if (cursor === undefined) return undefined
  try {
    const value = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as Cursor
    return typeof value.epoch === 'string' && typeof value.files === 'object' ? value : undefined
  } catch {
    return undefined
  }
}
