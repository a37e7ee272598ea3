/**
 * Space kept for a full disk: deleting, purging and sealing are records too, and need some bytes to be written. When one of those writes finds the
 * disk full, the file is removed and the write tried once more. The file is made again when there is room.
 *
 * Its bytes are random: zeros take no room on a file system that compresses, and equal bytes none on one that keeps them once.
 */
import { randomFillSync } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../../engine/clock.ts'
import type { Disk, DiskFile } from './disk.ts'

/** How long after it was released it is filled again, and between two attempts. */
const REFILL_MS = 10_000
/** Earlier versions wrote zeros. */
const LOOKED_AT_BYTES = 512

export class Reserve {
  readonly #disk: Disk
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #path: string
  readonly #bytes: number
  #dueMs = Number.POSITIVE_INFINITY

  constructor(disk: Disk, clock: Pick<Clock, 'monotonicMs'>, root: string, bytes: number) {
    this.#disk = disk
    this.#clock = clock
    this.#path = join(root, 'reserve')
    this.#bytes = bytes
  }

  /** Whether this process knows that it is missing, and did not try to make it lately. */
  get isDue(): boolean {
    return this.#dueMs !== Number.POSITIVE_INFINITY && this.#clock.monotonicMs() >= this.#dueMs
  }

  /** Makes the reserve if it is missing. False if there is no room for it. */
  async fill(): Promise<boolean> {
    this.#dueMs = Number.POSITIVE_INFINITY
    try {
      if (await this.#isEmpty()) await this.#disk.remove(this.#path)
      const file = await this.#disk.open(this.#path, 'create')
      try {
        const missing = this.#bytes - file.stat().size
        if (missing > 0) {
          if ((await file.write(randomFillSync(Buffer.alloc(missing)))) < missing) throw new Error('short write')
          await file.sync()
        }
        return true
      } finally {
        await file.close()
      }
    } catch {
      // Half a reserve would take the room that others need.
      await this.release()
      return false
    }
  }

  /** Gives the space back. False if there was none. */
  async release(): Promise<boolean> {
    this.#dueMs = this.#clock.monotonicMs() + REFILL_MS
    return this.#disk.remove(this.#path).then(
      () => true,
      () => false,
    )
  }

  async #isEmpty(): Promise<boolean> {
    if ((this.#disk.statSync(this.#path)?.size ?? 0) === 0) return false
    const file: DiskFile = await this.#disk.open(this.#path, 'read')
    try {
      return file.readSync(0, LOOKED_AT_BYTES).every((byte) => byte === 0)
    } finally {
      await file.close()
    }
  }
}
