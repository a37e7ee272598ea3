/**
 * The memory engine: journals in the heap of one process. It is the port in its simplest honest form, for tests and for stores that
 * may be forgotten. Nothing is durable and nothing is shared, and it says so.
 */
import { systemIds } from '../../engine/ids.ts'
import type { Changes, Engine, Journal, Supports } from '../../engine/port.ts'
import type { KeysOf } from '../../record/key-hash.ts'
import { Feed } from './feed.ts'
import { MemoryJournal, refuseClosed, type Shelf } from './journal.ts'
import { Segment } from './segment.ts'

/** One segment of a journal, as it is in a file: also with damaged lines, and with half a line at its end. */
export interface SegmentBytes {
  readonly space: string
  readonly session: string
  readonly first: number
  readonly bytes: Uint8Array
}

export interface MemoryEngineOptions {
  readonly keysOf: KeysOf
  /** What the store begins with, in the order of the positions of each journal. Defaults to nothing. */
  readonly segments?: readonly SegmentBytes[]
}

export function openMemoryEngine({ keysOf, segments = [] }: MemoryEngineOptions): Engine {
  return new MemoryEngine(keysOf, segments)
}

class MemoryEngine implements Engine {
  readonly supports: Supports = { durable: false, shared: false }
  readonly warnings: readonly string[] = []
  readonly #shelf: Shelf

  constructor(keysOf: KeysOf, segments: readonly SegmentBytes[]) {
    const journals = new Map<string, Segment[]>()
    for (const { space, session, first, bytes } of segments) {
      const name = this.name(space, session)
      journals.set(name, [...(journals.get(name) ?? []), new Segment(first, bytes)])
    }
    this.#shelf = { keysOf, feed: new Feed(systemIds.hex(16)), journals, closed: false }
  }

  /** JSON, because it quotes: no choice of space and id can look like another. */
  name(space: string, id: string): string {
    return JSON.stringify([space, id])
  }

  journal(name: string): Journal {
    refuseClosed(this.#shelf)
    return new MemoryJournal(name, this.#shelf)
  }

  /** Looks at the journals now and not at the first step of the iteration. */
  names(space?: string): AsyncIterable<string> {
    refuseClosed(this.#shelf)
    const prefix = space === undefined ? '' : `[${JSON.stringify(space)},`
    return inTurn([...this.#shelf.journals.keys()].filter((name) => name.startsWith(prefix)))
  }

  async changes(cursor?: string): Promise<Changes> {
    refuseClosed(this.#shelf)
    return this.#shelf.feed.since(cursor)
  }

  watch(hint: () => void): () => void {
    refuseClosed(this.#shelf)
    return this.#shelf.feed.watch(hint)
  }

  /** Calls finish before they return, so there is nothing to wait for. Handles outlive the engine; the bytes need not. */
  async close(): Promise<void> {
    this.#shelf.closed = true
    this.#shelf.feed.close()
    this.#shelf.journals.clear()
  }
}

async function* inTurn(names: readonly string[]): AsyncIterable<string> {
  yield* names
}
