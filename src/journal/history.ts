/** Reading a journal from its beginning, or from one of its segments, without keeping it: for whoever needs the records themselves. */
import type { Journal } from '../engine/port.ts'
import { JournalFold, type Verdict } from '../record/fold.ts'
import type { Line } from '../record/line.ts'

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
  /** What is sealed stays so: for whoever looks at lines and not into them. */
  readonly sealed?: boolean
}

/** What stands in a journal, line by line, from segment `from` on and before `to`. */
export async function* history(
  journal: Journal,
  { from = 0, to = Number.POSITIVE_INFINITY, barrier = true, sealed = false }: HistoryOptions = {},
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
    let position = segment
    let chunk = await journal.read(segment, position)
    for (; chunk !== undefined && chunk.next !== position; chunk = await journal.read(segment, position)) {
      if (barrier) await journal.sync(segment)
      for (const line of chunk.lines) yield { verdict: fold.judge(sealed ? asItStands(line) : line), line, segment }
      position = chunk.next
    }
    // Nothing is missing of a segment that was purged meanwhile, nor of the last one.
    const missing = chunk === undefined || segments[i + 1] === undefined ? undefined : fold.missing(position)
    if (missing !== undefined) yield { verdict: missing, line: { at: missing.at, bytes: Buffer.of() }, segment }
  }
}

/** A line that nobody opens. */
export function asItStands({ at, bytes }: Line): Line {
  return { at, bytes }
}
