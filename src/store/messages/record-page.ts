/** What happened to a session, the last thing first: the records of its journal, page by page, for people to read. */
import type { Journal } from '../../engine/port.ts'
import type { Loss } from '../../journal/loss.ts'
import { Records } from '../../journal/records.ts'
import { PageBudget } from '../../record/json-bytes.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JournalRecord } from '../../record/record.ts'
import { checkCount, checkLimit } from '../../session/check.ts'
import type { DamagedPlace } from '../damage/damage.ts'
import { lostIn } from '../damage/damage-scan.ts'

export interface RecordPageOptions {
  /** Only records before this position. Defaults to the end. */
  readonly before?: number
  /** The largest number of records, up to 1000. Defaults to 100. A page has fewer where they are large: it holds about 4 MiB, or one record. */
  readonly limit?: number
  /** Whether to include appended messages. Defaults to true. */
  readonly messages?: boolean
}

export interface RecordPage {
  readonly records: readonly { readonly position: number; readonly record: JournalRecord }[]
  /** The position to continue before, or null if there is nothing. */
  readonly before: number | null
  /** What cannot be read between these records. */
  readonly damage: readonly DamagedPlace[]
}

/** One call looks at so many records at most: a long session has few that are not messages. */
const LOOKED_AT = 5000
const MOST = 1000
/** What the store writes for itself. */
const OWN = new Set(['segment.sealed', 'checkpoint'])

export async function recordPage(journal: Journal, end: number, options: RecordPageOptions, loss?: Loss): Promise<RecordPage> {
  const page = await readPage(journal, end, options)
  if (loss === undefined || !lacks(page, options.before, loss)) return page
  return { ...page, damage: [...page.damage, { position: loss.from, count: null, reason: loss.as }] }
}

/**
 * Whether a page lacks what vanished, and does not report it yet: no line shows it. What vanished after the last record is newer than every record
 * that is left, so the first page lacks it.
 */
function lacks({ damage, before: first }: RecordPage, before: number | undefined, { from, to }: Loss): boolean {
  const isCovered = from >= (first ?? 0) && from < (before ?? Number.POSITIVE_INFINITY)
  return isCovered && !damage.some(({ position }) => position >= from && position < to)
}

async function readPage(journal: Journal, end: number, options: RecordPageOptions): Promise<RecordPage> {
  const { before = end, limit = 100, messages = true } = options
  checkLimit(limit, MOST)
  checkCount('`before`', before, Number.MAX_SAFE_INTEGER)
  const records: RecordPage['records'][number][] = []
  const budget = new PageBudget(LIMITS.pageBytes)
  let looked = 0
  const last = Math.min(before, end) - 1
  for await (const { record, at, end: next } of new Records(journal).backward(0, last)) {
    const newest = records.at(-1)
    // Most records are written twice. The first copy is the one that counts, and a page never ends between the two.
    if (newest?.record.id === record.id) {
      records.splice(-1, 1, shown(record, at))
      continue
    }
    const isWanted = !OWN.has(record.type) && (messages || record.type !== 'messages.appended')
    if (records.length === limit || looked++ === LOOKED_AT || (isWanted && !budget.add(next - at)))
      return { records, before: at + 1, damage: await damageIn(journal, at + 1, last) }
    if (isWanted) records.push(shown(record, at))
  }
  return { records, before: null, damage: await damageIn(journal, 0, last) }
}

/** Of what records say that cannot be read, nothing is known. */
async function damageIn(journal: Journal, from: number, to: number): Promise<DamagedPlace[]> {
  const lost = (await lostIn(journal, { from, until: to + 1 })).filter(({ position }) => position >= from)
  return lost.map(({ position, reason, since }) => ({ position, count: null, reason, ...(since === undefined ? {} : { since }) }))
}

/** Without the digest that opens a share. */
function shown({ token: _, ...record }: JournalRecord, position: number): RecordPage['records'][number] {
  return { position, record: record as JournalRecord }
}
