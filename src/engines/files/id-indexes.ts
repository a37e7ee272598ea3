/** The id indexes that one store keeps in memory: bounded in bytes, the longest unused one is dropped first. */
import type { IdIndex } from './id-index.ts'

export class IdIndexes {
  readonly #limitBytes: number
  /** In order of use. */
  readonly #indexes = new Map<string, { readonly index: IdIndex; users: number }>()

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  async use<T>(name: string, make: () => IdIndex, work: (index: IdIndex) => Promise<T>): Promise<T> {
    const known = this.#indexes.get(name) ?? { index: make(), users: 0 }
    this.#indexes.delete(name)
    this.#indexes.set(name, known)
    known.users++
    try {
      return await work(known.index)
    } finally {
      known.users--
      await this.#evict()
    }
  }

  async close(name?: string): Promise<void> {
    for (const [key, { index }] of [...this.#indexes]) {
      if (name !== undefined && key !== name) continue
      this.#indexes.delete(key)
      await index.close()
    }
  }

  async #evict(): Promise<void> {
    let bytes = 0
    for (const { index } of this.#indexes.values()) bytes += index.bytes
    for (const [name, { index, users }] of [...this.#indexes]) {
      if (bytes <= this.#limitBytes) return
      if (users > 0) continue
      bytes -= index.bytes
      this.#indexes.delete(name)
      await index.close()
    }
  }
}
