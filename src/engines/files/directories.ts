/**
 * Directories whose names are durable. A name that another process made and did not sync vanishes at a power loss with everything
 * behind it, so whoever builds on a name syncs it first. Holdfast never removes a directory of a store, so once is enough for a process; only where
 * another program has done so are they forgotten.
 */
import { dirname, join } from 'node:path'
import type { Disk } from './disk.ts'

/** How many directories are remembered as durable; forgetting one costs a sync. */
const REMEMBERED = 20_000

export class Directories {
  readonly #disk: Disk
  readonly #root: string
  readonly #durable = new Set<string>()

  constructor(disk: Disk, root: string) {
    this.#disk = disk
    this.#root = root
  }

  /** Makes a directory below the root, with those that lead to it. Their names are not durable yet. */
  async make(relative: string): Promise<void> {
    let path = this.#root
    for (const part of relative.split('/')) {
      path = join(path, part)
      if (!this.#durable.has(path)) await this.#disk.makeDirectory(path)
    }
  }

  /** A directory was removed, perhaps with those that lead to it. */
  forget(path: string): void {
    for (let inner = path; inner !== this.#root; inner = dirname(inner)) this.#durable.delete(inner)
  }

  /** Another directory took the place of the root. */
  forgetAll(): void {
    this.#durable.clear()
  }

  /** Makes the names in a directory durable, and the names that lead to it. */
  async sync(path: string): Promise<void> {
    await this.#disk.syncDirectory(path)
    const synced: string[] = []
    for (let inner = path; inner !== this.#root && !this.#durable.has(inner); inner = dirname(inner)) {
      await this.#disk.syncDirectory(dirname(inner))
      synced.push(inner)
    }
    // Only now: a directory is durable if all that lead to it are.
    if (this.#durable.size >= REMEMBERED) this.#durable.clear()
    for (const inner of synced) this.#durable.add(inner)
  }
}
