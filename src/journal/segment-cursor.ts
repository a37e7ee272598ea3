/** How far one segment was read; whether what was read is still there, and still the end of the journal. */
import type { Journal } from '../engine/port.ts'
import { intactCrc, type Line } from '../record/line.ts'
import type { Loss } from './loss.ts'

/** The last record of a segment, or its checkpoint. */
interface LastLine {
  readonly at: number
  readonly end: number
  readonly crc: string
}

export class SegmentCursor {
  readonly #journal: Journal
  segment = 0
  /** Lines before this position were judged. */
  next = 0
  /** The append point. */
  end = 0
  /** The opening of the segment that it was read from. */
  opened: number | undefined
  last: LastLine | undefined
  /** The opening of the segment that was found to be the last one. */
  #confirmed: number | undefined

  constructor(journal: Journal) {
    this.#journal = journal
  }

  /** Nothing of this segment was read yet. */
  begin(segment: number): void {
    this.segment = segment
    this.next = segment
    this.end = segment
    this.opened = undefined
    this.last = undefined
  }

  /** This intact line is the last one that was read. */
  endsWith({ at, bytes }: Line): void {
    this.last = { at, end: at + bytes.length + 1, crc: intactCrc(bytes) as string }
  }

  /**
   * Whether the segment is still the one that was read so far. It is not if its file was cut or replaced. A file that was cut and has grown again
   * since is recognized by the last line, which is compared whenever there is something new.
   */
  async isSame({ opened, end }: { readonly opened: number; readonly end: number }): Promise<boolean> {
    const { segment, next } = this
    if (end < next) return false
    const known = this.opened
    this.opened = opened
    if (known === undefined || (known === opened && end === next)) return true
    // Nothing was found in it that could be missing by now.
    if (this.last === undefined) return known === opened || next === segment
    return this.isLastLineThere()
  }

  async isLastLineThere(): Promise<boolean> {
    const { segment, last } = this
    if (last === undefined) return true
    const [line] = (await this.#journal.read(segment, last.at, last.end - last.at))?.lines ?? []
    return line !== undefined && line.at === last.at && intactCrc(line.bytes) === last.crc
  }

  /**
   * Whether a segment that was read to its end is the last one, and nothing that others had written after it has vanished, unless a loss is known.
   * Otherwise it had been purged, and a late writer has made it again: it holds nothing, and the journal continues elsewhere. It is enough to look for
   * later segments once for each opening: such a segment has them from the moment it is made. But where others have written since, the seal of this
   * one may have been cut off.
   */
  async isLast(opened: number, loss: Loss | undefined): Promise<boolean> {
    const hasNews = loss === undefined && this.#journal.mayHaveVanished?.(this.segment) === true
    if ((hasNews || this.#confirmed !== opened) && !(await this.isEnd())) return false
    this.#confirmed = opened
    return !hasNews || (await this.#journal.vanished?.()) === undefined
  }

  async isEnd(): Promise<boolean> {
    return !(await this.#journal.segments()).some((first) => first > this.segment)
  }
}
