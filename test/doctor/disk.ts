/** A disk in memory: files by path, so that any byte can be spoiled and a whole store be looked at again within a millisecond. */
import type { Disk, DiskFile, FileStat } from '../../src/engines/files/disk.ts'

/** Content by path. */
export type Files = ReadonlyMap<string, Buffer>

export class MemoryDisk implements Disk {
  readonly files: Map<string, Buffer>
  /** So many syncs of files fail from now on. */
  failSyncs = 0
  /** Paths that cannot be read. */
  readonly unreadable = new Set<string>()
  #writes = 0
  readonly #inodes = new Map<string, number>()

  constructor(files: Files = new Map()) {
    this.files = new Map(files)
  }

  /** How often something was written, renamed or removed. */
  get writes(): number {
    return this.#writes
  }

  async open(path: string, mode: 'append' | 'create' | 'read'): Promise<DiskFile> {
    if (!this.files.has(path)) {
      if (mode !== 'create') throw diskError('ENOENT', path)
      this.#put(path, Buffer.alloc(0))
    }
    return this.#file(path)
  }

  async makeDirectory(): Promise<void> {}

  statSync(path: string): FileStat | undefined {
    const content = this.files.get(path)
    return content === undefined ? undefined : this.#statOf(path, content)
  }

  /** A file keeps its number as long as it has its name. */
  #statOf(path: string, content: Buffer): FileStat {
    const inode = this.#inodes.get(path) ?? this.#inodes.size + 1
    this.#inodes.set(path, inode)
    return { size: content.length, links: this.files.has(path) ? 1 : 0, inode, createdMs: inode, changedMs: content.length, device: 1 }
  }

  async list(path: string): Promise<string[]> {
    const inside = [...this.files.keys()].filter((file) => file.startsWith(`${path}/`))
    return [...new Set(inside.map((file) => file.slice(path.length + 1).split('/')[0] as string))]
  }

  async remove(path: string): Promise<void> {
    if (!this.files.delete(path)) throw diskError('ENOENT', path)
    this.#writes++
  }

  async rename(from: string, to: string): Promise<void> {
    this.#inodes.set(to, this.#statOf(from, this.files.get(from) as Buffer).inode)
    this.#inodes.delete(from)
    this.#put(to, this.files.get(from) as Buffer)
    this.files.delete(from)
  }

  async overwrite(path: string, offset: number, was: Uint8Array, bytes: Uint8Array): Promise<boolean> {
    const content = Buffer.from(this.files.get(path) ?? [])
    if (!content.subarray(offset, offset + was.length).equals(was)) return false
    content.set(bytes, offset)
    this.#put(path, content)
    return true
  }

  async syncDirectory(): Promise<void> {}

  async fileSystem(): Promise<undefined> {}

  async bootId(): Promise<string> {
    return 'boot'
  }

  watch(): () => void {
    return () => undefined
  }

  #put(path: string, bytes: Buffer): void {
    this.files.set(path, bytes)
    this.#writes++
  }

  /** A file is found by its name whenever it is used; one that was renamed while open is still found by what it holds. */
  #file(path: string): DiskFile {
    let last = this.files.get(path) as Buffer
    const content = (): Buffer => {
      last = this.files.get(path) ?? last
      return last
    }
    const read = (offset: number, length: number): Buffer => {
      if (this.unreadable.has(path)) throw diskError('EIO', path)
      return Buffer.from(content().subarray(offset, offset + length))
    }
    const write = (bytes: Uint8Array): number => {
      this.#put(path, Buffer.concat([content(), bytes]))
      return bytes.length
    }
    return {
      stat: () => this.#statOf(path, content()),
      readSync: read,
      endsSync: (offset, end) => read(offset - end.length, end.length + 1).equals(end),
      read: async (offset, length) => read(offset, length),
      writeSync: write,
      write: async (bytes) => write(bytes),
      sync: async () => {
        if (this.failSyncs-- > 0) throw diskError('EIO', path)
      },
      close: async () => undefined,
    }
  }
}

function diskError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: '${path}'`), { code })
}
