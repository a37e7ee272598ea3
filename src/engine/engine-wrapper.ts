/** Passes every call on to another engine. A subclass overrides what it changes. */
import type { Line } from '../record/line.ts'
import type { Catalog } from './catalog.ts'
import type { Changes, Engine, Journal, JournalPosition, Oddity, Supports } from './port.ts'

export class EngineWrapper implements Engine {
  readonly supports: Supports
  directory?: string
  storeId?: string
  checkDirectory?: () => Promise<number>
  inspect?: (name?: string) => AsyncIterable<Oddity>
  rederive?: (name: string) => Promise<void>
  catalog?: (options: { readonly empty: boolean }) => Promise<Catalog>
  lines?: (places: readonly JournalPosition[]) => Promise<(Line | undefined)[]>
  latest?: () => number | Promise<number>
  protected readonly inner: Engine

  constructor(inner: Engine) {
    this.inner = inner
    this.supports = inner.supports
    // What the inner engine lacks is missing here too, so that callers can see it.
    if (inner.directory !== undefined) this.directory = inner.directory
    if (inner.storeId !== undefined) this.storeId = inner.storeId
    if (inner.checkDirectory !== undefined) this.checkDirectory = inner.checkDirectory.bind(inner)
    if (inner.inspect !== undefined) this.inspect = inner.inspect.bind(inner)
    if (inner.rederive !== undefined) this.rederive = inner.rederive.bind(inner)
    if (inner.catalog !== undefined) this.catalog = inner.catalog.bind(inner)
    if (inner.lines !== undefined) this.lines = inner.lines.bind(inner)
    if (inner.latest !== undefined) this.latest = inner.latest.bind(inner)
  }

  get warnings(): readonly string[] {
    return this.inner.warnings
  }

  name(space: string, id: string): string {
    return this.inner.name(space, id)
  }

  journal(name: string): Journal {
    return this.inner.journal(name)
  }

  names(space?: string): AsyncIterable<string> {
    return this.inner.names(space)
  }

  changes(cursor?: string): Promise<Changes> {
    return this.inner.changes(cursor)
  }

  watch(hint: () => void): () => void {
    return this.inner.watch(hint)
  }

  close(): Promise<void> {
    return this.inner.close()
  }
}
