/**
 * A journal as its readers see it: a segment whose file belongs to another session reads as an empty one. So its lines are missing, and nothing of the
 * other session is shown. A tail compares the end of a journal with its name, too, and reports the loss (loss.ts).
 */
import type { Appended, AppendOptions, Chunk, Engine, Journal, Vanished } from '../engine/port.ts'
import type { KeyEntry, KeyHash } from '../record/keys.ts'
import { decodeLine, type Line } from '../record/line.ts'
import type { Sealing } from '../record/sealing.ts'
import { type Identity, type IsNamed, identityIn, isNamedIn } from './loss.ts'

/** The first lines of a segment say whose it is. One line is read whole, however long it is. */
const FIRST_BYTES = 4096

export class OwnJournal implements Journal {
  readonly name: string
  readonly sealing: Sealing | undefined
  readonly #inner: Journal
  readonly #isNamed: IsNamed
  /** By segment: the opening for which it is known. */
  readonly #known = new Map<number, { readonly opened: number; readonly isOwn: boolean }>()

  constructor(inner: Journal, isNamed: IsNamed) {
    this.name = inner.name
    this.sealing = inner.sealing
    this.#inner = inner
    this.#isNamed = isNamed
  }

  async read(segment: number, from: number, limit?: number): Promise<Chunk | undefined> {
    for (;;) {
      const chunk = await this.#inner.read(segment, from, limit)
      if (chunk === undefined) return undefined
      const known = this.#known.get(segment)
      const isOwn = known?.opened === chunk.opened ? known.isOwn : await this.#compare(segment, from, chunk)
      // Another file has its name by now.
      if (isOwn === undefined) continue
      return isOwn ? chunk : { ...chunk, lines: [], next: from, end: from }
    }
  }

  /** Whether the beginning of a segment names this session; undefined if that is the beginning of another file than the chunk. */
  async #compare(segment: number, from: number, chunk: Chunk): Promise<boolean | undefined> {
    const start = from === segment ? chunk : await this.#inner.read(segment, segment, FIRST_BYTES)
    if (start?.opened !== chunk.opened) return undefined
    const first = firstRecord(start.lines)
    // It may not be whole yet.
    if (first === undefined) return true
    const { identity } = first
    const isOwn = identity === undefined || this.#isNamed(identity.space, identity.id)
    this.#known.set(segment, { opened: chunk.opened, isOwn })
    return isOwn
  }

  segments(): Promise<number[]> {
    return this.#inner.segments()
  }

  append(segment: number, at: number, group: Uint8Array, options?: AppendOptions): Promise<Appended> {
    return this.#inner.append(segment, at, group, options)
  }

  sync(segment: number): Promise<boolean> {
    return this.#inner.sync(segment)
  }

  async announce(): Promise<void> {
    await this.#inner.announce?.()
  }

  roll(first: number, preamble: Uint8Array, options?: { readonly urgent?: boolean }): Promise<void> {
    return this.#inner.roll(first, preamble, options)
  }

  lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
    return this.#inner.lookup(keys, from, before)
  }

  remember(segment: number, end: number, keys: ReadonlyMap<KeyHash, KeyEntry>): void {
    this.#inner.remember(segment, end, keys)
  }

  overwrite(segment: number, at: number, was: Uint8Array, line: Uint8Array): Promise<boolean> {
    return this.#inner.overwrite(segment, at, was, line)
  }

  purge(before: number): Promise<number> {
    return this.#inner.purge(before)
  }

  async vanished(): Promise<Vanished | undefined> {
    return this.#inner.vanished?.()
  }

  mayHaveVanished(segment: number): boolean {
    return this.#inner.mayHaveVanished?.(segment) === true
  }

  async reach(): Promise<number | undefined> {
    return this.#inner.reach?.()
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}

export function ownJournal(engine: Engine, name: string): Journal {
  return new OwnJournal(engine.journal(name), isNamedIn(engine, name))
}

function firstRecord(lines: readonly Line[]): { readonly identity: Identity | undefined } | undefined {
  for (const { bytes } of lines) {
    const decoded = decodeLine(bytes)
    if (decoded.kind === 'record') return { identity: identityIn(decoded.record) }
  }
  return undefined
}
