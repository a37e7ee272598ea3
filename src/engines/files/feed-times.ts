/**
 * The times in a feed file: the last line of each write has the time of the writer's last change in the order of the store. A writer reads what
 * others added since, so that its own changes come after theirs even when the clock was set back.
 */
import { crc32 } from 'node:zlib'
import type { DiskFile } from './disk.ts'

/** From a file that is opened, so much of its end is read: writers know each other's times, so one of the last lines has the latest. */
const END_BYTES = 16 * 1024

export class FeedTimes {
  /** The latest time that is known, in milliseconds since 1970; 0 if there is none. */
  latest = 0
  /** How far the current file was read. */
  #seen = 0

  add(time: number): void {
    if (time > this.latest) this.latest = time
  }

  /** Reads the end of a file, which is the current one from now on. */
  open(file: DiskFile): void {
    const { size } = file.stat()
    this.#seen = size
    this.#read(file, Math.max(0, size - END_BYTES), size)
  }

  /** Reads what was added to the current file. */
  catchUp(file: DiskFile, size: number): void {
    if (size <= this.#seen) return
    const from = Math.max(this.#seen, size - END_BYTES)
    this.#seen = size
    this.#read(file, from, size)
  }

  /** This process wrote so many bytes, and the file has this size now. Its own lines need not be read. False if another program has cut the file. */
  wrote(bytes: number, size: number): boolean {
    const isWhole = size >= this.#seen + bytes
    if (size === this.#seen + bytes || !isWhole) this.#seen = size
    return isWhole
  }

  #read(file: DiskFile, from: number, to: number): void {
    const text = Buffer.from(file.readSync(from, to - from)).toString('latin1')
    // The newest first: checksums of earlier times need not be computed.
    for (const [, time, checksum] of [...text.matchAll(TIMED)].reverse())
      if (Number(time) > this.latest && checksumOf(Number(time)) === checksum) this.latest = Number(time)
  }
}

/** The fields of a line that hold a time, with its own checksum: a time that rotted must not order anything. */
export function timeFields(time: number): string {
  return `,${time},"${checksumOf(time)}"`
}

/** The end of a line with a time. */
const TIMED = /,(\d{1,16}),"([0-9a-f]{8})"\]\n/g

function checksumOf(time: number): string {
  return crc32(String(time)).toString(16).padStart(8, '0')
}
