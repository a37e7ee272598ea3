/** A handle of one simulated process on a simulated file. What it asks of the machine around it is the `Host`. */
import type { DiskFile, FileStat } from '../../src/engines/files/disk.ts'
import { type CallName, diskError, type Faults } from './faults.ts'
import type { Handle, SimulatedFile } from './file.ts'
import type { Random } from './random.ts'
import { MORE, type SimulatedProcess, type Work } from './scheduler.ts'

export interface Host {
  readonly random: Random
  readonly faults: Faults
  /** How often an asynchronous write lands in parts. */
  readonly splitChance: number
  /** How often a sync takes longer, per step. */
  readonly slowSyncChance: number
  /** Entry to a synchronous call: others may get in first. Throws if the process is dead. */
  enter(process: SimulatedProcess, call: CallName, path: string): void
  /** Does a call now, and writes it down. */
  observe<T>(process: SimulatedProcess, call: CallName, path: string, body: () => T): T
  submit<T>(process: SimulatedProcess, call: CallName, path: string, work: Work<T>): Promise<T>
  /** Appends as much as there is room for, and says how much that was. */
  land(file: SimulatedFile, bytes: Uint8Array): number
  flush(file: SimulatedFile): void
  kill(process: SimulatedProcess): void
  release(handle: OpenFile): void
}

export class OpenFile implements DiskFile, Handle {
  errorPending = false
  readonly process: SimulatedProcess
  readonly file: SimulatedFile
  readonly #host: Host
  readonly #path: string
  readonly #writable: boolean
  #closed = false

  constructor(host: Host, process: SimulatedProcess, file: SimulatedFile, path: string, writable: boolean) {
    this.#host = host
    this.process = process
    this.file = file
    this.#path = path
    this.#writable = writable
  }

  stat(): FileStat {
    return this.#now('stat', () => {
      this.#host.faults.check('stat', this.#path)
      return statOf(this.file)
    })
  }

  readSync(offset: number, length: number): Buffer {
    return this.#now('read', () => this.#read(offset, length))
  }

  endsSync(offset: number, bytes: Uint8Array): boolean {
    return this.#now('read', () => this.#read(offset - bytes.length, bytes.length + 1).equals(bytes))
  }

  read(offset: number, length: number): Promise<Buffer> {
    return this.#later('read', () => this.#read(offset, length))
  }

  writeSync(bytes: Uint8Array): number {
    return this.#now('write', () => {
      this.#checkWritable()
      if (this.#host.faults.strikes('death')) {
        this.#landPrefix(bytes)
        this.#host.kill(this.process)
        throw diskError('ESRCH', 'write', this.#path)
      }
      return this.#failOrShorten(bytes) ?? this.#land(bytes)
    })
  }

  /** Lands when it is picked, or in parts: the rest of a write that was cut short is written silently, behind whatever came between. */
  write(bytes: Uint8Array): Promise<number> {
    let landed = 0
    const perform = (): number | typeof MORE => {
      this.#checkWritable()
      if (landed === 0) {
        const short = this.#failOrShorten(bytes)
        if (short !== undefined) return short
      }
      const rest = bytes.subarray(landed)
      if (rest.length < 2 || !this.#host.random.chance(this.#host.splitChance)) return landed + this.#land(rest, landed > 0)
      const part = rest.subarray(0, 1 + this.#host.random.int(rest.length - 1))
      const count = this.#land(part, landed > 0)
      landed += count
      return count < part.length ? landed : MORE
    }
    return this.#later('write', perform, () => {
      if (this.#writable && this.file.handles.has(this)) this.#landPrefix(bytes.subarray(landed))
    })
  }

  sync(): Promise<void> {
    return this.#later<void>('sync', () => {
      if (this.#host.random.chance(this.#host.slowSyncChance)) return MORE
      if (this.#host.faults.strikes('sync')) this.file.fail()
      else this.#host.flush(this.file)
      // An older failure is told even though this write-back succeeded, and only once.
      if (!this.errorPending) return undefined
      this.errorPending = false
      throw this.#host.faults.error('sync', this.#path)
    })
  }

  close(): Promise<void> {
    const closing = this.#later('close', () => {
      this.#host.release(this)
      this.#host.faults.check('close', this.#path)
    })
    this.#closed = true
    return closing
  }

  #read(offset: number, length: number): Buffer {
    this.#host.faults.check('read', this.#path)
    return this.file.read(offset, length)
  }

  #checkWritable(): void {
    if (!this.#writable) throw diskError('EBADF', 'write', this.#path)
  }

  /** What the fault plan has in store for a write: an error, perhaps with some of it landed, or a short count. */
  #failOrShorten(bytes: Uint8Array): number | undefined {
    const { faults, random } = this.#host
    if (faults.strikes('write')) {
      this.#landPrefix(bytes)
      throw faults.error('write', this.#path)
    }
    if (bytes.length < 2 || !faults.strikes('shortWrite')) return undefined
    // The worst place to stop is right in front of the last newline.
    const count = random.chance(0.2) ? bytes.length - 1 : 1 + random.int(bytes.length - 1)
    return this.#land(bytes.subarray(0, count))
  }

  /** Lands what there is room for. A full disk is an error only to a write that landed nothing at all. */
  #land(bytes: Uint8Array, continues = false): number {
    const count = this.#host.land(this.file, bytes)
    if (count === 0 && bytes.length > 0 && !continues) throw diskError('ENOSPC', 'write', this.#path)
    return count
  }

  #landPrefix(bytes: Uint8Array): void {
    this.#host.land(this.file, bytes.subarray(0, this.#host.random.int(bytes.length + 1)))
  }

  #checkOpen(call: CallName): void {
    if (!this.file.handles.has(this)) throw diskError('EBADF', call, this.#path)
  }

  #now<T>(call: CallName, body: () => T): T {
    this.#host.enter(this.process, call, this.#path)
    return this.#host.observe(this.process, call, this.#path, () => {
      if (this.#closed) throw diskError('EBADF', call, this.#path)
      this.#checkOpen(call)
      return body()
    })
  }

  #later<T>(call: CallName, body: () => T | typeof MORE, abandon?: () => void): Promise<T> {
    const closed = this.#closed
    const perform = (): T | typeof MORE => {
      if (closed) throw diskError('EBADF', call, this.#path)
      this.#checkOpen(call)
      return body()
    }
    return this.#host.submit(this.process, call, this.#path, abandon === undefined ? { perform } : { perform, abandon })
  }
}

export function statOf({ size, links, inode, createdMs, changes }: SimulatedFile): FileStat {
  return { size, links, inode, createdMs, changedMs: changes, device: 1 }
}
