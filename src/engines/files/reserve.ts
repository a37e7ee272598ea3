/**
 * Space kept for a full disk: deleting, purging and sealing are records too, and need some bytes to be written. The file holds real
 * bytes; when one of those writes finds the disk full, it is removed and the write tried once more.
 */
import { join } from 'node:path'
import type { Disk } from './disk.ts'

export class Reserve {
  readonly #disk: Disk
  readonly #path: string
  readonly #bytes: number

  constructor(disk: Disk, root: string, bytes: number) {
    this.#disk = disk
    this.#path = join(root, 'reserve')
    this.#bytes = bytes
  }

  /** Makes the reserve if it is missing. False if there is no room for it. */
  async fill(): Promise<boolean> {
    try {
      const file = await this.#disk.open(this.#path, 'create')
      try {
        const missing = this.#bytes - file.stat().size
        if (missing > 0) {
          if ((await file.write(Buffer.alloc(missing))) < missing) throw new Error('short write')
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
    return this.#disk.remove(this.#path).then(
      () => true,
      () => false,
    )
  }
}
