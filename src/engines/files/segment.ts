/**
 * One open segment file, and what this process knows of it: up to where it is on the disk, and whether the names that lead to it are.
 * All handles on one journal in a process share it.
 */
import { HoldfastError, type Outcome } from '../../errors.ts'
import type { Directories } from './directories.ts'
import { type Disk, type DiskFile, errorCode, type FileStat, isSameFile } from './disk.ts'
import { isExhausted, unwritable } from './failures.ts'
import type { Shard } from './watermarks.ts'

export interface Poison {
  /** Up to here an earlier sync had succeeded. */
  readonly from: number | undefined
}

/** What is known of a file that was closed for want of descriptors, and nothing else. */
export interface ClosedFile {
  readonly opened: number
  readonly inode: number
  readonly createdMs: number
  readonly last: KnownEnd
}

/** The furthest end that was read or written, and the bytes in front of it. */
interface KnownEnd {
  readonly end: number
  readonly bytes: Buffer
}

interface SegmentOptions {
  readonly first: number
  readonly disk: Disk
  readonly path: string
  readonly file: DiskFile
  readonly writable: boolean
  readonly directory: string
  readonly directories: Directories
  readonly poison: Poison | undefined
  /** What was known of it when it was closed. */
  readonly before: ClosedFile | undefined
}

/** How many bytes before the end are compared to find out whether the end is still the same. A checksum is among them. */
const END_BYTES = 32

let opened = 0

export class Segment {
  readonly first: number
  /** Which opening of a file this is, in this process. A file that was closed and is still the same keeps its number. */
  readonly opened: number
  readonly file: DiskFile
  readonly writable: boolean
  /**
   * Whether this process may place records: what stands in the segment and the names that lead to it are durable, since a record must
   * not outlive what is in front of it; and the segment was found to be the last one after that.
   */
  settled = false
  /** A sync of this file failed, here or in an earlier handle: what it holds may be gone, and no later sync can tell. */
  poisoned: boolean

  /** The watermarks of this journal in this shard all hold. */
  verified: Shard | undefined

  readonly #disk: Disk
  readonly #path: string
  #stat: FileStat | undefined
  readonly #directory: string
  readonly #directories: Directories
  #last: KnownEnd | undefined
  /** Everything before this position is on the disk. Undefined until a first sync. */
  #durableTo: number | undefined
  /** What was read or written up to this position must be synced before it is shown. */
  #seenTo: number
  #syncing: Promise<boolean> | undefined
  /** Calls under way; a segment in use is not closed. */
  #users = 0
  #closing: Promise<void> | undefined
  #idle: (() => void) | undefined

  constructor(options: SegmentOptions) {
    this.first = options.first
    this.file = options.file
    this.#disk = options.disk
    this.#path = options.path
    this.writable = options.writable
    this.poisoned = options.poison !== undefined
    this.#durableTo = options.poison?.from
    this.#directory = options.directory
    this.#directories = options.directories
    this.#seenTo = options.first
    const same = isStill(options) ? options.before : undefined
    this.opened = same?.opened ?? ++opened
    this.#last = same?.last
  }

  /** What to know of it after it is closed. Undefined if that says nothing, or it was never read. */
  get closedFile(): ClosedFile | undefined {
    if (this.#last === undefined || this.poisoned) return undefined
    try {
      const { inode, createdMs } = this.file.stat()
      return { opened: this.opened, inode, createdMs, last: this.#last }
    } catch {
      return undefined
    }
  }

  get inUse(): boolean {
    return this.#users > 0
  }

  hold(): this {
    this.#users++
    return this
  }

  release(): void {
    this.#users--
    if (this.#users === 0) this.#idle?.()
  }

  /** Closes the file once nobody uses it. A failure to close says nothing about what was synced. */
  close(): Promise<void> {
    this.#closing ??= new Promise<void>((resolve) => {
      this.#idle = resolve
      if (this.#users === 0) resolve()
    }).then(() => this.file.close().catch(() => undefined))
    return this.#closing
  }

  get closed(): boolean {
    return this.#closing !== undefined
  }

  /** The append point, of the file that its path names: undefined once that is no longer this one. */
  get end(): number | undefined {
    const stat = this.#disk.statSync(this.#path)
    // Asked for here and not when the file is opened: here, callers expect that the disk may fail.
    this.#stat ??= this.file.stat()
    return stat !== undefined && isSameFile(stat, this.#stat) ? this.first + stat.size : undefined
  }

  /** The append point of this file, whatever its path names by now. */
  get ownEnd(): number {
    return this.first + this.file.stat().size
  }

  /** Notes the last bytes of the file, of those that were read or written from a position on. False if they are not the ones that were there before. */
  noteEnd(from: number, bytes: Uint8Array): boolean {
    const end = from + bytes.length
    const last = this.#last
    if (bytes.length === 0 || end < (last?.end ?? 0)) return true
    if (last !== undefined && from < last.end && !endsAlike(bytes.subarray(0, last.end - from), last.bytes)) return false
    const known = last?.end === from ? last.bytes : undefined
    const recent = bytes.subarray(-END_BYTES)
    const more = known === undefined || recent.length >= END_BYTES ? recent : Buffer.concat([known, recent]).subarray(-END_BYTES)
    this.#last = { end, bytes: Buffer.from(more) }
    return true
  }

  /** Whether a file that ends here was cut: it had been longer. What was found out about it does not hold any more. */
  isCut(end: number): boolean {
    return this.#last !== undefined && end < this.#last.end
  }

  /** Whether the bytes in front of a position are the ones that were there: false if the file was cut and has grown again. */
  isUnchangedBefore(position: number): boolean {
    if (this.#last === undefined || this.#last.end !== position) return true
    const { end, bytes } = this.#last
    return this.file.readSync(end - this.first - bytes.length, bytes.length).equals(bytes)
  }

  /** Whether the file ends here, behind the bytes that were there. False if those are not known. Its path may name another file by now. */
  endsAt(position: number): boolean {
    return this.#last?.end === position && this.file.endsSync(position - this.first, this.#last.bytes)
  }

  /** Something was read or written and not synced since. Whether a sync of it fails is known only to a file that is open by then. */
  get isUnsynced(): boolean {
    return !this.poisoned && this.#seenTo > (this.#durableTo ?? this.first)
  }

  see(position: number): void {
    if (position > this.#seenTo) this.#seenTo = position
  }

  /** Makes all that was seen durable. False if this store cannot be synced. */
  sync(): Promise<boolean> {
    // Who comes while a sync runs may have seen more than that sync covers, and waits for the next one.
    if (this.#syncing !== undefined) return this.#syncing.then(this.#again, this.#again)
    if (this.poisoned) return Promise.reject(this.failure('unknown'))
    if (this.#durableTo !== undefined && this.#durableTo >= this.#seenTo) return Promise.resolve(true)
    this.#syncing = this.#syncNow(this.#seenTo)
    return this.#syncing
  }

  readonly #again = (): Promise<boolean> => this.sync()

  async #syncNow(target: number): Promise<boolean> {
    try {
      await this.file.sync()
      if (this.#durableTo === undefined) await this.#directories.sync(this.#directory)
    } catch (error) {
      if (!this.writable && ['EROFS', 'EINVAL', 'EACCES', 'EPERM', 'EBADF'].includes(errorCode(error) ?? '')) return false
      // The directory of the store was moved, which says nothing about the disk.
      if (error instanceof HoldfastError) throw error
      if (isExhausted(error)) throw unwritable(error, 'The journal', 'unknown')
      this.poisoned = true
      throw this.failure('unknown', error)
    } finally {
      this.#syncing = undefined
    }
    this.#durableTo = target
    return true
  }

  get poison(): Poison | undefined {
    return this.poisoned ? { from: this.#durableTo } : undefined
  }

  failure(outcome: Outcome, cause?: unknown): HoldfastError {
    return new HoldfastError(
      'UNAVAILABLE',
      'The disk failed to store what was written. The next attempt goes on in a new file; repeat this one under the same ids.',
      {
        cause,
        outcome,
        details: { reason: 'sync failed', segment: this.first, from: this.#durableTo ?? null },
      },
    )
  }
}

/**
 * Whether a file is the one that was closed, and has not been cut: as sure as it is of a file that stays open. Readers keep what they know of it then. If
 * they began again each time, and more of them read side by side than files can be open, none would ever end.
 */
function isStill({ before, file, first }: SegmentOptions): boolean {
  if (before === undefined) return false
  const { end, bytes } = before.last
  try {
    const { inode, createdMs, size } = file.stat()
    if (inode !== before.inode || createdMs !== before.createdMs || first + size < end) return false
    return file.readSync(end - first - bytes.length, bytes.length).equals(bytes)
  } catch {
    return false
  }
}

/** Whether two pieces of a file that end at the same place have the same bytes there, as far as both are known. */
function endsAlike(one: Uint8Array, other: Uint8Array): boolean {
  const length = Math.min(one.length, other.length)
  return Buffer.compare(one.subarray(one.length - length), other.subarray(other.length - length)) === 0
}
