/**
 * Which lines of a backup must not be put back because a caller repeated them. A message whose line cannot be read does not count, so a retry
 * with the same id is written as a new record. With the first line back, the message would be there twice.
 */
import type { Journal } from '../engine/port.ts'
import { history } from '../journal/history.ts'
import { isEncrypted } from '../record/line-cipher.ts'
import type { JournalRecord } from '../record/record.ts'
import { messageId } from '../session/records.ts'

/** Positions, the last one excluded. */
export interface Range {
  readonly from: number
  readonly to: number
}

/**
 * Ids of the records in the ranges that a restore writes whose message ids or operation keys another record of the present journal has. `born`: where
 * the present incarnation of the session starts; earlier ones may have used the same ids.
 */
export async function repeatedRecords(
  backup: Journal,
  live: Journal,
  ranges: readonly Range[],
  born: number,
): Promise<ReadonlySet<string>> {
  const owners = new Map<string, string>()
  const repeated = new Set<string>()
  if (ranges.length === 0) return repeated
  for await (const { verdict, line } of history(backup, { barrier: false })) {
    if (verdict.kind !== 'counted' || !ranges.some(({ from, to }) => line.at < to && line.at + line.bytes.length >= from)) continue
    for (const id of idsOf(verdict.record)) owners.set(id, verdict.record.id)
  }
  if (owners.size === 0) return repeated
  for await (const { verdict } of history(live, { barrier: false })) {
    if (verdict.kind !== 'counted' || verdict.at < born) continue
    for (const id of idsOf(verdict.record)) {
      const owner = owners.get(id)
      if (owner !== undefined && owner !== verdict.record.id) repeated.add(owner)
    }
  }
  return repeated
}

/** Message ids and operation keys of a record. */
function idsOf(record: JournalRecord): string[] {
  if (isEncrypted(record)) return []
  const { key, messages, ids } = record
  const found = typeof key === 'string' ? [`operation ${key}`] : []
  if (record.type === 'messages.appended' && Array.isArray(messages))
    for (const index of messages.keys()) found.push(`message ${messageId(record.id, ids as (string | null)[] | undefined, index)}`)
  return found
}
