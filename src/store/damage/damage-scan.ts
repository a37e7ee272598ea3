/**
 * Reads a stretch of a journal line by line, and returns where records were lost. A spoiled line alone does not prove a loss: a writer
 * that died leaves one, and so does a page that never reached the disk. The next record proves it. It names the checksum of the record
 * before it, so if that one can be read, nothing was lost between them.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Journal } from '../../engine/port.ts'
import { history } from '../../journal/history.ts'
import { LostCopies } from '../../journal/lost-copies.ts'
import { Records } from '../../journal/records.ts'
import { reasonOf } from '../../record/damage.ts'
import type { Damaged, Verdict } from '../../record/fold.ts'
import { LEAD_IN } from '../../record/line.ts'
import { isEncrypted } from '../../record/line-cipher.ts'
import { isWrittenTwice, type JsonObject } from '../../record/record.ts'
import type { LostStretch } from '../../session/damaged-places.ts'
import { sessionReducer } from '../../session/reducer.ts'
import { INITIAL, type SessionState } from '../../session/state.ts'

interface ScanOptions {
  /** Begins with the segment that holds this position. */
  readonly from?: number
  /** Stops at the first record from here on. What was lost from here on is not returned. */
  readonly until?: number
}

/** A loss that the records around it prove, or one at the end of what can be read. */
interface Scanned extends LostStretch {
  readonly proven: boolean
  /** Whether a record after it decided that. */
  readonly decided: boolean
}

/** How many losses are remembered of one journal. */
const MOST = 1000

/** Where records were lost. A fragment of a line is a loss only if a record after it proves that. */
export async function lostIn(journal: Journal, options: ScanOptions = {}): Promise<LostStretch[]> {
  return (await scan(journal, options)).filter(({ proven }) => proven)
}

/** The spoiled stretches from one position on and before another; if none is proven, all: the caller has proof of its own that something is missing there. */
export async function lostBetween(journal: Journal, from: number, to: number): Promise<readonly LostStretch[]> {
  const found = (await scan(journal, { from, until: to })).filter((one) => one.to >= from)
  const proven = found.filter((one) => one.proven)
  return proven.length > 0 ? proven : found
}

async function scan(journal: Journal, { from = 0, until = Number.POSITIVE_INFINITY }: ScanOptions): Promise<Scanned[]> {
  const lost: Scanned[] = []
  let open: Damaged[] = []
  /** The last loss is all that a segment held before its seal. */
  let emptied = false
  const segments = await journal.segments()
  const start = segments.findLast((first) => first <= from)
  // The first record of a journal follows none.
  let before: { readonly crc: string | undefined; readonly at: string } | undefined = start === 0 ? { crc: '', at: '' } : undefined
  const close = (prev?: string): void => {
    if (open.length === 0) return
    const broken = prev === undefined || before?.crc === undefined ? undefined : prev !== before.crc
    lost.push(
      stretchOf(open, { broken, end: prev === undefined ? segments.at(-1) : undefined }, before?.at === '' ? undefined : before?.at),
    )
    open = []
  }
  const witness = new Witness(start)
  const copies = new LostCopies()
  for await (const { verdict, segment } of history(journal, { from, barrier: false, encrypted: true })) {
    if (witness.agrees(verdict)) {
      open = []
      // A segment that held nothing but its checkpoint and a seal.
      if (emptied) lost.pop()
    }
    if (verdict.kind === 'checkpoint') emptied = false
    if (verdict.kind === 'damage') {
      if (!copies.isSecond(verdict)) open.push(verdict)
    } else if (verdict.kind === 'checkpoint' || (verdict.kind === 'counted' && !verdict.carried)) {
      const copy = verdict.kind === 'counted' ? copies.count(verdict, open) : undefined
      if (copy !== undefined) open = open.filter((one) => one !== copy)
      // If this is the second copy of a record, the next record names the checksum of the first, which is spoiled.
      const isSecond = (open.length > 0 || copy !== undefined) && verdict.kind === 'counted' && isWrittenTwice(verdict.record)
      emptied = verdict.record.type === 'segment.sealed' && (open[0]?.at ?? Number.POSITIVE_INFINITY) <= segment + LEAD_IN.length
      close(verdict.record.prev)
      before = { crc: isSecond ? undefined : verdict.crc, at: verdict.record.at }
      if (lost.length > MOST || (verdict.kind === 'counted' && verdict.at >= until)) break
    }
  }
  close()
  return withoutCarried(
    journal,
    lost.filter(({ position }) => position < until),
  )
}

/**
 * What the records come to that can be read. A checkpoint that says the same knew of no others: what is missing before it never reached the
 * disk, and was never acknowledged.
 */
class Witness {
  #state: SessionState | undefined

  /** `segment`: the first one that is read. */
  constructor(segment: number | undefined) {
    this.#state = segment === 0 ? INITIAL : undefined
  }

  agrees(verdict: Verdict): boolean {
    if (verdict.kind === 'counted' && !verdict.carried) {
      this.#state = this.#state === undefined || isEncrypted(verdict.record) ? undefined : sessionReducer.apply(this.#state, verdict)
    }
    if (verdict.kind !== 'checkpoint') return false
    const before = this.#state
    this.#state = isEncrypted(verdict.record) ? undefined : sessionReducer.restore(verdict.record.state as JsonObject)
    return before !== undefined && this.#state !== undefined && isDeepStrictEqual(before, this.#state)
  }
}

/** What a later segment carries can be read there. */
async function withoutCarried(journal: Journal, lost: readonly Scanned[]): Promise<Scanned[]> {
  if (lost.length === 0) return []
  const segments = await journal.segments()
  const records = new Records(journal)
  const left: Scanned[] = []
  for (const one of lost) {
    const segment = segments.findLast((first) => first <= one.position)
    if (segment === undefined || !isCarried(one, await records.carried(segment))) left.push(one)
  }
  return left
}

/**
 * Whether what was lost stands again in a later segment, given the lines of its segment that later ones carry. They carry every line from
 * some position on, but for seals: so where only a seal was lost, nothing was.
 */
export function isCarried({ position, to, reason }: LostStretch, carried: readonly { readonly at: number }[]): boolean {
  return carried.some(({ at }) => (at >= position && at < to) || (reason !== 'rotten' && at <= position))
}

/**
 * `broken`: whether the record after it follows one that cannot be read; undefined if no record says. `end`: where the last segment begins. If no record
 * says, nothing in that segment can be read, so it was named and never made. Then the seal before it did not reach the disk either.
 */
function stretchOf(
  open: readonly Damaged[],
  { broken, end: lastSegment }: { readonly broken: boolean | undefined; readonly end: number | undefined },
  since: string | undefined,
): Scanned {
  const spoiled = open.filter(({ as }) => as !== 'torn')
  // A line whose newline rotted looks as if a writer had died in it.
  const [first, last] = spoiled.length > 0 ? [spoiled[0], spoiled.at(-1)] : [open[0], open.at(-1)]
  const { at, as } = first as Damaged
  const end = (last as Damaged).at + (last as Damaged).length
  // At the end of a journal, zeros are a page that never reached the disk: if it had been acknowledged, its watermark would show that it vanished.
  const isSeal = (one: Damaged): boolean => one.as === 'missing' && one.at + one.length === lastSegment
  const proven = broken ?? spoiled.some((one) => one.as !== 'zeros' && !isSeal(one))
  return { position: at, to: end, reason: reasonOf(as), since, proven, decided: broken !== undefined }
}

/** What was found in the sealed segments of a journal. Those do not change, so they are read once for each handle of a journal. */
const sealed = new WeakMap<Journal, { readonly before: number; readonly lost: readonly LostStretch[] }>()

/**
 * Losses in the segments before `before`. Reads all of them the first time, which takes as long as the journal is: only for a caller that
 * has to know why something is not there.
 */
export async function lostBefore(journal: Journal, before: number): Promise<readonly LostStretch[]> {
  const known = sealed.get(journal)
  if (known?.before === before) return known.lost
  const fresh = await lostIn(journal, { from: known?.before ?? 0, until: before })
  const lost = [...(known?.lost ?? []), ...fresh].slice(0, MOST)
  sealed.set(journal, { before, lost })
  return lost
}

const tails = new WeakMap<Journal, { readonly of: string; readonly lost: readonly LostStretch[] }>()

/** Losses in the part of a journal where a tail met these spoiled lines. Read once, if records after them decide what they are. */
export async function lostInTail(
  journal: Journal,
  damage: readonly { readonly segment: number; readonly at: number }[],
): Promise<readonly LostStretch[]> {
  const from = Math.min(...damage.map(({ segment }) => segment))
  const of = `${from} ${damage.length} ${damage.at(-1)?.at}`
  const known = tails.get(journal)
  if (known?.of === of) return known.lost
  // From the segment before: what its records come to shows whether something was lost.
  const scanned = await scan(journal, { from: Math.max(from - 1, 0) })
  const lost = scanned.filter(({ proven }) => proven)
  if (scanned.every(({ decided }) => decided)) tails.set(journal, { of, lost })
  return lost
}
