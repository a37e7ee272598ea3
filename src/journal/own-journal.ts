/**
 * A journal as its readers see it: a segment whose file belongs to another session reads as an empty one. So its lines are missing, and nothing of the
 * other session is shown. A tail compares the end of a journal with its name, too, and reports the loss (loss.ts).
 */

import { JournalWrapper } from '../engine/journal-wrapper.ts'
import type { Chunk, Engine, Journal } from '../engine/port.ts'
import { decodeLine, type Line } from '../record/line.ts'
import { type Identity, type IsNamed, identityIn, isNamedIn } from './loss.ts'

/** The first lines of a segment say whose it is. One line is read whole, however long it is. */
const FIRST_BYTES = 4096

export class OwnJournal extends JournalWrapper {
  readonly #isNamed: IsNamed
  /** By segment: the opening for which it is known. */
  readonly #known = new Map<number, { readonly opened: number; readonly isOwn: boolean }>()

  constructor(inner: Journal, isNamed: IsNamed) {
    super(inner)
    this.#isNamed = isNamed
  }

  override async read(segment: number, from: number, limit?: number): Promise<Chunk | undefined> {
    for (;;) {
      const chunk = await this.inner.read(segment, from, limit)
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
    const start = from === segment ? chunk : await this.inner.read(segment, segment, FIRST_BYTES)
    if (start?.opened !== chunk.opened) return undefined
    const first = firstRecord(start.lines)
    // It may not be whole yet.
    if (first === undefined) return true
    const { identity } = first
    const isOwn = identity === undefined || this.#isNamed(identity.space, identity.id)
    this.#known.set(segment, { opened: chunk.opened, isOwn })
    return isOwn
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
