/** The id indexes that one store keeps in memory: bounded in bytes and open files, the longest unused one is dropped first. */
import type { IdIndex } from './id-index.ts'

interface Kept {
  readonly index: IdIndex
  users: number
  /** Of its bytes and its files, what is in the sums. */
  bytes: number
  files: number
}

export class IdIndexes {
  readonly #limitBytes: number
  readonly #limitFiles: number
  /** In order of use. */
  readonly #indexes = new Map<string, Kept>()
  #bytes = 0
  #files = 0

  constructor(limitBytes: number, limitFiles: number) {
    this.#limitBytes = limitBytes
    this.#limitFiles = limitFiles
  }

  async use<T>(name: string, make: () => IdIndex, work: (index: IdIndex) => Promise<T>): Promise<T> {
    const known = this.#indexes.get(name) ?? { index: make(), users: 0, bytes: 0, files: 0 }
    this.#indexes.delete(name)
    this.#indexes.set(name, known)
    known.users++
    try {
      return await work(known.index)
    } finally {
      known.users--
      if (this.#indexes.get(name) === known) this.#count(known, known.index)
      if (this.#isFull) await this.#evict()
    }
  }

  async close(name?: string): Promise<void> {
    for (const [key, kept] of [...this.#indexes]) if (name === undefined || key === name) await this.#drop(key, kept)
  }

  /** The system has no more files to give: drops half of these, as far as nobody uses them. */
  relieve(): Promise<void> {
    return this.#evict(this.#files / 2)
  }

  get #isFull(): boolean {
    return this.#bytes > this.#limitBytes || this.#files > this.#limitFiles
  }

  async #evict(files = this.#limitFiles): Promise<void> {
    for (const [name, kept] of [...this.#indexes]) {
      if (this.#bytes <= this.#limitBytes && this.#files <= files) return
      if (kept.users === 0) await this.#drop(name, kept)
    }
  }

  async #drop(name: string, kept: Kept): Promise<void> {
    this.#indexes.delete(name)
    this.#count(kept, { bytes: 0, files: 0 })
    await kept.index.close()
  }

  #count(kept: Kept, { bytes, files }: Pick<Kept, 'bytes' | 'files'>): void {
    this.#bytes += bytes - kept.bytes
    this.#files += files - kept.files
    kept.bytes = bytes
    kept.files = files
  }
}
