/**
 * `exclusive: true`: one process at a time, on file systems without the promise of promise.ts. Each process that opens the store adds a
 * line to `exclusive`; the last line owns the store. An owner looks before each write and before each acknowledgement, so a second
 * process is detected by the first one at its next call. There is no lock that could be left behind by a crash.
 */
import { join } from 'node:path'
import { HoldfastError } from '../../errors.ts'
import type { Disk } from './disk.ts'
import { unreadable, unwritable } from './failures.ts'

export class Exclusive {
  readonly #disk: Disk
  readonly #path: string
  readonly #size: number

  private constructor(disk: Disk, path: string, size: number) {
    this.#disk = disk
    this.#path = path
    this.#size = size
  }

  static async claim(disk: Disk, root: string, token: string): Promise<Exclusive> {
    const path = join(root, 'exclusive')
    try {
      const file = await disk.open(path, 'create')
      try {
        await file.write(Buffer.from(`${token}\n`))
        await file.sync()
        return new Exclusive(disk, path, file.stat().size)
      } finally {
        await file.close()
      }
    } catch (error) {
      throw unwritable(error, 'The store')
    }
  }

  /** Throws if another process has opened the store since. Opens the file anew: network file systems refresh what they know on open. */
  async check(): Promise<void> {
    if ((await this.#sizeNow()) === this.#size) return
    throw new HoldfastError(
      'UNAVAILABLE',
      'This store was opened again, in this process or in another one, and `exclusive: true` allows one. Close one of them and open the store again.',
      {
        details: { reason: 'not exclusive' },
      },
    )
  }

  async #sizeNow(): Promise<number> {
    try {
      const file = await this.#disk.open(this.#path, 'read')
      try {
        return file.stat().size
      } finally {
        await file.close()
      }
    } catch (error) {
      throw unreadable(error, 'The store')
    }
  }
}
