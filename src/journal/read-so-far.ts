/** What was read of the segment at the end of a journal: whether it is still there, and still the end. */
import type { Journal } from '../engine/port.ts'
import { intactCrc, type Line } from '../record/line.ts'
import type { Loss } from './loss.ts'

/** The last record of a segment, or its checkpoint. */
interface LastLine {
  readonly at: number
  readonly end: number
  readonly crc: string
}

export class ReadSoFar {
  readonly #journal: Journal
  /** The opening of the segment that it was read from. */
  opened: number | undefined
  last: LastLine | undefined
  /** The opening of the segment that was found to be the last one. */
  #confirmed: number | undefined

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Nothing was read of the segment yet. */
  begin(): void {
    this.opened = undefined
    this.last = undefined
  }

  /** This intact line is the last one that was read. */
  endsWith({ at, bytes }: Line): void {
    this.last = { at, end: at + bytes.length + 1, crc: intactCrc(bytes) as string }
  }

  /**
   * Whether a segment, read up to `next`, is still the one that was read so far: not if its file was cut, or another one was put in its place. One that
   * was cut and has grown again since is told by the last line, which is compared whenever there is something new.
   */
  async isSame(segment: number, next: number, { opened, end }: { readonly opened: number; readonly end: number }): Promise<boolean> {
    if (end < next) return false
    const known = this.opened
    this.opened = opened
    if (known === undefined || (known === opened && end === next)) return true
    // Nothing was found in it that could be missing by now.
    if (this.last === undefined) return known === opened || next === segment
    return this.isLastLineThere(segment)
  }

  async isLastLineThere(segment: number): Promise<boolean> {
    const { last } = this
    if (last === undefined) return true
    const [line] = (await this.#journal.read(segment, last.at, last.end - last.at))?.lines ?? []
    return line !== undefined && line.at === last.at && intactCrc(line.bytes) === last.crc
  }

  /**
   * Whether a segment that was read to its end is the last one, and nothing that others had written behind it has vanished, unless a loss is known.
   * Otherwise it had been purged, and a writer that is late has made it again: it holds nothing, and the journal continues elsewhere. To look for later
   * segments once for each opening is enough: such a segment has them from the moment it is made. But where others have written since, the seal of this
   * one may have been cut off.
   */
  async isLast(segment: number, opened: number, loss: Loss | undefined): Promise<boolean> {
    const hasNews = loss === undefined && this.#journal.mayHaveVanished?.(segment) === true
    if ((hasNews || this.#confirmed !== opened) && !(await this.isEnd(segment))) return false
    this.#confirmed = opened
    return !hasNews || (await this.#journal.vanished?.()) === undefined
  }

  async isEnd(segment: number): Promise<boolean> {
    return !(await this.#journal.segments()).some((first) => first > segment)
  }
}
