/** The id indexes that one store keeps in memory: bounded in bytes, the longest unused one is dropped first. */
import type { IdIndex } from './id-index.ts'

interface Kept {
  readonly index: IdIndex
  users: number
  /** Of its bytes, what is in the sum. */
  counted: number
}

export class IdIndexes {
  readonly #limitBytes: number
  /** In order of use. */
  readonly #indexes = new Map<string, Kept>()
  #bytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  async use<T>(name: string, make: () => IdIndex, work: (index: IdIndex) => Promise<T>): Promise<T> {
    const known = this.#indexes.get(name) ?? { index: make(), users: 0, counted: 0 }
    this.#indexes.delete(name)
    this.#indexes.set(name, known)
    known.users++
    try {
      return await work(known.index)
    } finally {
      known.users--
      if (this.#indexes.get(name) === known) this.#count(known, known.index.bytes)
      if (this.#bytes > this.#limitBytes) await this.#evict()
    }
  }

  async close(name?: string): Promise<void> {
    for (const [key, kept] of [...this.#indexes]) if (name === undefined || key === name) await this.#drop(key, kept)
  }

  async #evict(): Promise<void> {
    for (const [name, kept] of [...this.#indexes]) {
      if (this.#bytes <= this.#limitBytes) return
      if (kept.users === 0) await this.#drop(name, kept)
    }
  }

  async #drop(name: string, kept: Kept): Promise<void> {
    this.#indexes.delete(name)
    this.#count(kept, 0)
    await kept.index.close()
  }

  #count(kept: Kept, bytes: number): void {
    this.#bytes += bytes - kept.counted
    kept.counted = bytes
  }
}
