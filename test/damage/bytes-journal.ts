/** A journal that is nothing but bytes, so that any of them can be spoiled and the whole be read again in a fraction of a millisecond. */
import type { Appended, Chunk, Journal } from '../../src/engine/port.ts'
import type { KeyEntry, KeyHash } from '../../src/record/key-hash.ts'
import { splitLines } from '../../src/record/line.ts'

/** Content by first position, as the files of a session's directory hold it. */
export type Files = ReadonlyMap<number, Buffer>

export class BytesJournal implements Journal {
  readonly name = 'bytes'
  readonly files: Map<number, Buffer>

  constructor(files: Files = new Map()) {
    this.files = new Map(files)
  }

  async segments(): Promise<number[]> {
    return [...this.files.keys()].sort((a, b) => a - b)
  }

  async read(segment: number, from: number): Promise<Chunk | undefined> {
    const bytes = this.files.get(segment)
    if (bytes === undefined) return undefined
    return { ...splitLines(bytes.subarray(from - segment), from), end: segment + bytes.length, opened: segment }
  }

  async append(segment: number, at: number, group: Uint8Array): Promise<Appended> {
    const bytes = this.files.get(segment) ?? Buffer.alloc(0)
    if (segment + bytes.length !== at || Math.max(0, ...this.files.keys()) !== segment) return { moved: true, placed: 0 }
    this.files.set(segment, Buffer.concat([bytes, group]))
    return { moved: false, placed: group.length }
  }

  async sync(): Promise<boolean> {
    return true
  }

  async roll(first: number, preamble: Uint8Array): Promise<void> {
    const bytes = this.files.get(first) ?? Buffer.alloc(0)
    if (!bytes.includes(Buffer.from(preamble))) this.files.set(first, Buffer.concat([bytes, preamble]))
  }

  async lookup(keys: readonly KeyHash[]): Promise<(KeyEntry | undefined)[]> {
    return keys.map(() => undefined)
  }

  storeKeys(): void {}

  async overwrite(): Promise<boolean> {
    throw new Error('Nothing is written here.')
  }

  async purge(): Promise<number> {
    return 0
  }

  async close(): Promise<void> {}
}
