/** The yardstick: the least that Node can do to put one line of 1 KiB on the disk for good, with nothing read, decided or checked. */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { RECORD_BYTES } from './session.ts'

export class BareLoop {
  readonly #handle: FileHandle
  readonly #line = Buffer.alloc(RECORD_BYTES, 'x')

  private constructor(handle: FileHandle) {
    this.#handle = handle
  }

  static async open(directory: string): Promise<BareLoop> {
    return new BareLoop(await open(join(directory, 'bare-loop'), 'a'))
  }

  async append(): Promise<void> {
    await this.#handle.write(this.#line)
    await this.#handle.datasync()
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}
