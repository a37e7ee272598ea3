/**
 * What tells a source by what it holds and how it is read. Most are small, and are read for it before anything else is done. One that is large, and of
 * a size of which none was imported, cannot be known: it is told while it is imported, since reading it twice would take a tenth of the time.
 */
import { createHash } from 'node:crypto'
import type { Source, SourceFile } from '../../formats/item.ts'

/** From here on a source is large. */
export const LARGE_BYTES = 4 * 1024 * 1024

export interface Digested {
  readonly digest: string
  readonly bytes: number
}

export async function digestOfSource(source: Source, format: string): Promise<Digested> {
  const sum = createHash('sha256').update(format)
  let bytes = 0
  for (const file of source.files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    if (source.files.length > 1) sum.update(`\0${file.path}\0`)
    for await (const chunk of file.read()) {
      sum.update(chunk)
      bytes += chunk.length
    }
  }
  return { digest: sum.digest('hex'), bytes }
}

/** Of how many bytes a source is, if it is one large file whose size says so; of what is compressed nobody knows before it is read. */
export function largeSize({ files, orphan }: Source): number | undefined {
  const [file, ...more] = files
  if (file === undefined || more.length > 0 || orphan === true || file.fault !== undefined || file.size < LARGE_BYTES) return undefined
  return file.size
}

/** A source of one file that is told by whoever reads it to its end. */
export class DigestedWhileRead {
  readonly source: Source
  readonly #format: string
  #last: Digested | undefined

  constructor(source: Source, format: string) {
    const [file] = source.files as [SourceFile]
    this.source = { ...source, files: [{ ...file, read: () => this.#read(file) }] }
    this.#format = format
  }

  async *#read(file: SourceFile): AsyncGenerator<Uint8Array> {
    const sum = createHash('sha256').update(this.#format)
    let bytes = 0
    for await (const chunk of file.read()) {
      sum.update(chunk)
      bytes += chunk.length
      yield chunk
    }
    this.#last = { digest: sum.digest('hex'), bytes }
  }

  /** Of all that was read last. */
  async digested(): Promise<Digested> {
    return this.#last ?? digestOfSource(this.source, this.#format)
  }
}
