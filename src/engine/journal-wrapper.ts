/** Passes every call on to another journal. A subclass overrides what it changes. */

import type { KeyEntry, KeyHash } from '../record/key-hash.ts'
import type { Appended, AppendOptions, Chunk, Journal, Vanished } from './port.ts'

export class JournalWrapper implements Journal {
  readonly name: string
  protected readonly inner: Journal

  constructor(inner: Journal) {
    this.name = inner.name
    this.inner = inner
  }

  segments(): Promise<number[]> {
    return this.inner.segments()
  }

  read(segment: number, from: number, limit?: number): Promise<Chunk | undefined> {
    return this.inner.read(segment, from, limit)
  }

  append(segment: number, at: number, group: Uint8Array, options?: AppendOptions): Promise<Appended> {
    return this.inner.append(segment, at, group, options)
  }

  sync(segment: number): Promise<boolean> {
    return this.inner.sync(segment)
  }

  async announce(): Promise<void> {
    await this.inner.announce?.()
  }

  roll(first: number, preamble: Uint8Array, options?: { readonly urgent?: boolean }): Promise<void> {
    return this.inner.roll(first, preamble, options)
  }

  lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
    return this.inner.lookup(keys, from, before)
  }

  storeKeys(segment: number, end: number, keys: ReadonlyMap<KeyHash, KeyEntry>): void {
    this.inner.storeKeys(segment, end, keys)
  }

  overwrite(segment: number, at: number, was: Uint8Array, line: Uint8Array): Promise<boolean> {
    return this.inner.overwrite(segment, at, was, line)
  }

  purge(before: number): Promise<number> {
    return this.inner.purge(before)
  }

  async vanished(): Promise<Vanished | undefined> {
    return this.inner.vanished?.()
  }

  mayHaveVanished(segment: number): boolean {
    return this.inner.mayHaveVanished?.(segment) === true
  }

  async reach(): Promise<number | undefined> {
    return this.inner.reach?.()
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}
