/** What a journal lost: section "Damage" of docs/format.md. */
import type { Counted, DamagedLine, Journal, Segment } from './journal.ts'
import { firstCopyAt, isWrittenTwice } from './line.ts'

/** The stretches of positions in which a record was lost. Bytes that vanished without a trace need watermarks, which this reader leaves alone. */
export function lossesIn(journal: Journal): DamagedLine[] {
  const { segments } = journal
  const losses = segments.slice(journal.start).flatMap((segment, i, all) => new SegmentLosses(segment).find(i === all.length - 1))
  const counted = journal.counted
  const erasedChecksums = new Set(counted.flatMap(({ record }) => oldChecksums(record)))
  const carried = counted.filter(({ isCarried }) => isCarried)
  return losses
    .filter(({ prev }) => prev === undefined || !erasedChecksums.has(prev))
    .map(({ damage }) => damage)
    .filter(({ at, as }) => !carried.some((one) => (as === 'rotten' ? one.at === at : one.at <= at)))
}

/** Every line that is not intact, but for a copy of a record whose other copy is. */
export function damagedLines(journal: Journal): DamagedLine[] {
  return journal.segments.flatMap(({ met }) => {
    const damaged = met.flatMap((one) => (one.kind === 'damage' ? [one.damage] : []))
    const placed = met.flatMap((one) =>
      one.kind === 'counted' && !one.counted.isCarried && isWrittenTwice(one.counted.record) ? [one] : [],
    )
    const copies = placed.flatMap((one) => [firstCopyAt(one.line), one.counted.end + 2])
    return damaged.filter(({ at }) => !copies.includes(at))
  })
}

function oldChecksums(record: Counted['record']): string[] {
  return record.type === 'message.erased' ? (record.lines as { old: string }[]).map(({ old }) => old) : []
}

interface Lost {
  readonly damage: DamagedLine
  /** The checksum that the next record names, and no line has. */
  readonly prev?: string
}

class SegmentLosses {
  readonly #segment: Segment
  readonly #lost: Lost[] = []
  /** Damage since the last record. */
  #open: DamagedLine[] = []
  #last: Counted | undefined
  /** The next record may name a checksum that no line has: only the second copy of the last record is there. */
  #isCopyAlone = false
  #second: number | undefined

  constructor(segment: Segment) {
    this.#segment = segment
  }

  find(isLastSegment: boolean): Lost[] {
    for (const met of this.#segment.met) {
      if (met.kind === 'damage') this.#addDamage(met.damage)
      else if (met.kind === 'counted' && !met.counted.isCarried) this.#addRecord(met.counted, firstOf(met))
    }
    // At the end of the journal only a rotten line is a loss: the others are what a writer that died left.
    const isLoss = ({ as }: DamagedLine) => as === 'missing' || as === 'rotten' || (!isLastSegment && as === 'zeros')
    return [...this.#lost, ...this.#open.filter(isLoss).map((damage) => ({ damage }))]
  }

  #addDamage(damage: DamagedLine): void {
    const isPreamble = this.#last === undefined && this.#segment.first > 0
    if (damage.at === this.#second || (isPreamble && this.#segment.root?.isComplete === true)) return
    if (isPreamble && damage.as !== 'torn') this.#lost.push({ damage })
    else this.#open.push(damage)
  }

  #addRecord(counted: Counted, firstCopy: number | undefined): void {
    const { record, at, end } = counted
    const prev = this.#last?.crc ?? this.#segment.root?.crc ?? ''
    const ownCopy = this.#open.find((one) => firstCopy !== undefined && one.at === firstCopy)
    const open = this.#open.filter((one) => one !== ownCopy)
    const isBroken = record.prev !== prev && !this.#isCopyAlone
    const mayShowHole = this.#last !== undefined || this.#segment.first === 0
    if (isBroken && mayShowHole && open.length === 0) this.#lost.push({ damage: { at, to: at, as: 'missing' }, prev: record.prev })
    const isTornAlone = open.every(({ as }) => as === 'torn')
    if (isBroken) for (const damage of open) if (isTornAlone || damage.as !== 'torn') this.#lost.push({ damage, prev: record.prev })
    this.#open = []
    this.#last = counted
    this.#isCopyAlone = ownCopy !== undefined
    // The newline, and the lead-in of the second copy.
    this.#second = isWrittenTwice(record) && ownCopy === undefined ? end + 2 : undefined
  }
}

function firstOf({ counted, line }: { counted: Counted; line: Parameters<typeof firstCopyAt>[0] }): number | undefined {
  return isWrittenTwice(counted.record) ? firstCopyAt(line) : undefined
}

/** Whether accepted losses cover a stretch. Bytes between two lines belong to the line before. */
export function isAccepted(
  { at, to }: { readonly at: number; readonly to: number },
  accepted: readonly { position: number; to: number }[],
) {
  let reached = at
  for (const gap of accepted.toSorted((a, b) => a.position - b.position))
    if (gap.position <= reached + 3) reached = Math.max(reached, gap.to)
  const touches = accepted.some((gap) => gap.position <= at && at <= Math.max(gap.to, gap.position) + 3)
  return touches && reached + 3 >= to
}
