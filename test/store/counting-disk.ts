/** The real disk, counting what is asked of it. */
import type { Disk } from '../../src/engines/files/disk.ts'
import { unsynced } from '../damage/on-disk.ts'

export interface Counts {
  /** Calls that read or write, open or list. */
  calls: number
  bytesRead: number
  bytesWritten: number
  /** The most bytes that one call kept the thread busy with, and the most that one call brought. */
  mostSync: number
  mostAsync: number
  /** The most bytes between two turns of the event loop: nothing else could run meanwhile. */
  mostPerTurn: number
}

export class CountingDisk {
  counts: Counts = none()
  #thisTurn = 0
  readonly disk: Disk = {
    ...unsynced,
    list: (path) => {
      this.counts.calls++
      return unsynced.list(path)
    },
    open: async (path, mode) => {
      this.counts.calls++
      const file = await unsynced.open(path, mode)
      return {
        stat: () => file.stat(),
        readSync: (offset, length) => this.#read('mostSync', file.readSync(offset, length)),
        endsSync: (offset, bytes) => file.endsSync(offset, bytes),
        read: async (offset, length) => this.#read('mostAsync', await file.read(offset, length)),
        writeSync: (bytes) => this.#written('mostSync', file.writeSync(bytes)),
        write: async (bytes) => this.#written('mostAsync', await file.write(bytes)),
        sync: () => file.sync(),
        close: () => file.close(),
      }
    },
  }

  /** What some work takes. */
  async during(work: () => Promise<unknown>): Promise<Counts> {
    this.counts = none()
    let over = false
    const turn = (): void => {
      this.#thisTurn = 0
      if (!over) setImmediate(turn)
    }
    turn()
    await work()
    over = true
    return this.counts
  }

  #read(most: 'mostSync' | 'mostAsync', bytes: Buffer): Buffer {
    this.counts.calls++
    this.counts.bytesRead += bytes.length
    this.#moved(most, bytes.length)
    return bytes
  }

  #written(most: 'mostSync' | 'mostAsync', length: number): number {
    this.counts.calls++
    this.counts.bytesWritten += length
    this.#moved(most, length)
    return length
  }

  #moved(most: 'mostSync' | 'mostAsync', length: number): void {
    this.counts[most] = Math.max(this.counts[most], length)
    this.#thisTurn += length
    this.counts.mostPerTurn = Math.max(this.counts.mostPerTurn, this.#thisTurn)
  }
}

function none(): Counts {
  return { calls: 0, bytesRead: 0, bytesWritten: 0, mostSync: 0, mostAsync: 0, mostPerTurn: 0 }
}
