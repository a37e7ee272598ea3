/** Reading a journal from its beginning, or from one of its segments, without keeping it: for whoever needs the records themselves. */
import type { Journal } from '../engine/port.ts'
import { JournalFold, type Verdict } from '../record/fold.ts'
import type { Line } from '../record/line.ts'
import { Scan } from './scan.ts'

export interface HistoryItem {
  readonly verdict: Verdict
  /** Empty where the end of a segment is missing. */
  readonly line: Line
  readonly segment: number
}

interface HistoryOptions {
  readonly from?: number
  readonly to?: number
  /** Each line is durable before it is shown, unless this is false. */
  readonly barrier?: boolean
  /** Encrypted lines stay encrypted: for readers that need the lines and not what they say. Defaults to false. */
  readonly encrypted?: boolean
}

/** What stands in a journal, line by line, from segment `from` on and before `to`. */
export async function* history(
  journal: Journal,
  { from = 0, to = Number.POSITIVE_INFINITY, barrier = true, encrypted = false }: HistoryOptions = {},
): AsyncGenerator<HistoryItem> {
  const segments = (await journal.segments()).filter((first) => first < to)
  const begin = Math.max(
    segments.findLastIndex((first) => first <= from),
    0,
  )
  let fold: JournalFold | undefined
  for (let i = begin; i < segments.length; i++) {
    const segment = segments[i] as number
    const successor = Math.min(segments[i + 1] ?? Number.POSITIVE_INFINITY, to)
    if (fold === undefined) fold = new JournalFold(segment, successor)
    else fold.enter(segment, successor)
    const scan = new Scan(journal, segment)
    for await (const { lines } of scan) {
      if (barrier) await journal.sync(segment)
      for (const line of lines) yield { verdict: fold.judge(encrypted ? withoutOpener(line) : line), line, segment }
    }
    // Nothing is missing of a segment that was purged in between, nor of the last one.
    const missing = scan.isGone || segments[i + 1] === undefined ? undefined : fold.missing(scan.next)
    if (missing !== undefined) yield { verdict: missing, line: { at: missing.at, bytes: Buffer.of() }, segment }
  }
}

/** A line that is not decrypted. */
export function withoutOpener({ at, bytes }: Line): Line {
  return { at, bytes }
}
