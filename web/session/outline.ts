/**
 * The rows of a transcript: an archive is a chapter of one row, with its messages behind it if it is open; what no archive holds are the
 * messages themselves. There may be hundreds of thousands of rows, so none is made: a row is worked out from where it stands.
 */
import type { RemoteSession } from 'holdfast/client'

export type ArchiveInfo = Awaited<ReturnType<RemoteSession['archives']>>[number]

export type RowPlace = { readonly kind: 'chapter'; readonly archive: ArchiveInfo } | { readonly kind: 'message'; readonly depth: number }

interface Part {
  /** The first row of it. */
  readonly row: number
  readonly rows: number
  readonly from: number
  readonly archive: ArchiveInfo | undefined
  readonly key: number
}

export class Outline {
  readonly #parts: readonly Part[]
  readonly count: number

  constructor(total: number, archives: readonly ArchiveInfo[], open: ReadonlySet<number>) {
    const spans = archives.flatMap((archive) => archive.spans.map(({ from, to }) => ({ archive, from, to: Math.min(to, total) })))
    const parts: Part[] = []
    let [row, depth] = [0, 1]
    const add = (rows: number, from: number, archive?: ArchiveInfo): void => {
      if (rows <= 0) return
      parts.push({ row, rows, from, archive, key: archive === undefined ? 0 : -(archive.number * 1000 + parts.length) })
      row += rows
    }
    for (const { archive, from, to } of spans.toSorted((a, b) => a.from - b.from)) {
      if (to < from) continue
      add(from - depth, depth)
      add(open.has(archive.number) ? to - from + 2 : 1, from, archive)
      depth = to + 1
    }
    add(total - depth + 1, depth)
    this.#parts = parts
    this.count = row
  }

  at(row: number): RowPlace {
    const { archive, from, row: first } = this.#partAt(row)
    if (archive !== undefined && row === first) return { kind: 'chapter', archive }
    return { kind: 'message', depth: from + row - first - (archive === undefined ? 0 : 1) }
  }

  /** Stays the same while rows come and go around it. */
  keyOf(row: number): number {
    const part = this.#partAt(row)
    if (part.archive !== undefined && row === part.row) return part.key
    return part.from + row - part.row - (part.archive === undefined ? 0 : 1)
  }

  /** The row of a message; the archive that hides it, if its chapter is closed. */
  find(depth: number): { readonly row: number; readonly closed: number | undefined } {
    const part = this.#parts.findLast(({ from }) => from <= depth)
    if (part === undefined) return { row: 0, closed: undefined }
    if (part.archive === undefined) return { row: part.row + depth - part.from, closed: undefined }
    if (part.rows === 1) return { row: part.row, closed: part.archive.number }
    return { row: part.row + depth - part.from + 1, closed: undefined }
  }

  #partAt(row: number): Part {
    let [low, high] = [0, this.#parts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#parts[middle] as Part).row <= row) low = middle
      else high = middle - 1
    }
    return this.#parts[low] as Part
  }
}
