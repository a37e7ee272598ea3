/**
 * A handle on one journal. Every call does its work before it returns its promise, so calls never interleave, nothing is ever
 * under way, and the compare of an append cannot be separated from its write.
 */
import type { Appended, Chunk, Journal } from '../../engine/port.ts'
import { HoldfastError } from '../../errors.ts'
import type { KeyEntry, KeyHash, KeysOf } from '../../record/key-hash.ts'
import { LIMITS } from '../../record/limits.ts'
import { LEAD_IN } from '../../record/line.ts'
import type { Feed } from './feed.ts'
import { Segment } from './segment.ts'

const NEWLINE = 0x0a

/** What all handles of one engine share. */
export interface Shelf {
  readonly keysOf: KeysOf
  readonly feed: Feed
  /** Segments in order, by journal. A journal that is absent has no entry; one that has an entry has a segment. */
  readonly journals: Map<string, Segment[]>
  closed: boolean
}

export function refuseClosed(shelf: Shelf): void {
  if (shelf.closed) throw new HoldfastError('CLOSED', 'This store was closed. Open it again to use it.')
}

export class MemoryJournal implements Journal {
  readonly name: string
  readonly #shelf: Shelf

  constructor(name: string, shelf: Shelf) {
    this.name = name
    this.#shelf = shelf
  }

  async segments(): Promise<number[]> {
    return this.#segments().map((segment) => segment.first)
  }

  /** Without a limit it reads as much as other engines do at once, so that a caller who forgets to go on is found out here too. */
  async read(segment: number, from: number, limit: number = LIMITS.readBytes): Promise<Chunk | undefined> {
    return this.#segments()
      .find(({ first }) => first === segment)
      ?.read(from, limit)
  }

  async append(segment: number, at: number, group: Uint8Array): Promise<Appended> {
    const segments = this.#segments()
    if (!beginsWithLeadIn(group) || group.at(-1) !== NEWLINE) {
      throw new TypeError('A group must begin with the lead-in and end with a newline.')
    }
    const last = segments.at(-1)
    if (last === undefined) {
      if (segment !== 0 || at !== 0) return { moved: true, placed: 0 }
      this.#shelf.journals.set(this.name, [new Segment(0, group)])
    } else {
      if (last.first !== segment || last.end !== at) return { moved: true, placed: 0 }
      last.append(group)
    }
    this.#shelf.feed.announce(this.name)
    return { moved: false, placed: group.length }
  }

  /** Nothing here survives the process, so nothing can be less durable than it is. */
  async sync(): Promise<boolean> {
    refuseClosed(this.#shelf)
    return true
  }

  /** A segment that is there has its preamble, because both are made at once. A late helper must not revive one that was purged. */
  async roll(first: number, preamble: Uint8Array): Promise<void> {
    const segments = this.#segments()
    const last = segments.at(-1)
    if (last !== undefined && first <= last.first) return
    this.#shelf.journals.set(this.name, [...segments, new Segment(first, preamble)])
    this.#shelf.feed.announce(this.name)
  }

  async lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
    const indexes: ReadonlyMap<KeyHash, KeyEntry>[] = []
    const segments = this.#segments()
    for (const [index, segment] of segments.entries()) {
      const successor = segments[index + 1]?.first
      if ((successor ?? before) <= from || segment.first >= before) continue
      indexes.push(segment.keys(successor, this.#shelf.keysOf))
    }
    return keys.map((key) => {
      const entries = indexes.map((index) => index.get(key)).filter((entry) => entry !== undefined && entry.at >= from && entry.at < before)
      return entries.reduce((best, entry) => (best === undefined || (entry?.at ?? 0) > best.at ? entry : best), undefined)
    })
  }

  /** A segment knows its keys itself, once it was asked. */
  storeKeys(): void {}

  async overwrite(segment: number, at: number, was: Uint8Array, line: Uint8Array): Promise<boolean> {
    return (
      this.#segments()
        .find(({ first }) => first === segment)
        ?.overwrite(at, was, line) ?? false
    )
  }

  /** A segment ends where its successor begins; so the last one has no end and always stays. */
  async purge(before: number): Promise<number> {
    const segments = this.#segments()
    const kept = segments.filter((_, index) => (segments[index + 1]?.first ?? Number.POSITIVE_INFINITY) > before)
    if (kept.length === segments.length) return 0
    this.#shelf.journals.set(this.name, kept)
    this.#shelf.feed.announce(this.name)
    const bytes = (held: readonly Segment[]) => held.reduce((sum, segment) => sum + segment.size, 0)
    return bytes(segments) - bytes(kept)
  }

  async close(): Promise<void> {}

  #segments(): readonly Segment[] {
    refuseClosed(this.#shelf)
    return this.#shelf.journals.get(this.name) ?? []
  }
}

function beginsWithLeadIn(group: Uint8Array): boolean {
  return LEAD_IN.every((byte, index) => group[index] === byte)
}
