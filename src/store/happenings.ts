/** What happened to a session, the last thing first: the records of its journal, page by page, for people to read. */
import type { Journal } from '../engine/port.ts'
import type { JournalRecord } from '../record/record.ts'
import { checkCount } from '../session/check.ts'
import { Records } from './records.ts'

export interface HappeningsOptions {
  /** Only what stands before this position; from the end unless told. */
  readonly before?: number
  /** How many at most; 100 unless told. */
  readonly limit?: number
  /** False: without appended messages. */
  readonly messages?: boolean
}

export interface Happenings {
  readonly records: readonly { readonly position: number; readonly record: JournalRecord }[]
  /** Go on before this position; null if there is nothing. */
  readonly before: number | null
}

/** One call looks at so many records at most: a long session has few that are not messages. */
const LOOKED_AT = 5000
const MOST = 1000
/** What the store writes for itself. */
const OWN = new Set(['segment.sealed', 'checkpoint'])

export async function happenings(journal: Journal, end: number, options: HappeningsOptions): Promise<Happenings> {
  const { before = end, limit = 100, messages = true } = options
  checkCount('The limit', limit, MOST)
  const records: { position: number; record: JournalRecord }[] = []
  let looked = 0
  for await (const { record, at } of new Records(journal).backward(0, Math.min(before, end) - 1)) {
    if (records.length === limit || looked++ === LOOKED_AT) return { records, before: at + 1 }
    if (OWN.has(record.type) || (!messages && record.type === 'messages.appended')) continue
    // How a session begins is written twice, so that no single line can cost its name.
    if (records.at(-1)?.record.id === record.id) continue
    // A digest of what opens a share is nobody's business.
    const { token: _, ...shown } = record
    records.push({ position: at, record: shown as JournalRecord })
  }
  return { records, before: null }
}
