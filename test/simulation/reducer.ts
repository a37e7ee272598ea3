/**
 * What the simulated processes keep of a journal: enough to tell whether two of them have seen the same records in the same order. Every
 * record carries what its writer had seen, so that the check can hold it against what stands in front of it.
 */
import { crc32 } from 'node:zlib'
import type { Reducer } from '../../src/journal/reducer.ts'
import type { Counted } from '../../src/record/fold.ts'
import { hashKey } from '../../src/record/key-hash.ts'
import { type JsonObject, WRITTEN_TWICE } from '../../src/record/record.ts'

export interface Seen {
  /** Records that counted, seals apart. */
  readonly count: number
  /** A digest of their positions and ids, in order. */
  readonly chain: number
  readonly alive: boolean
  /** Position of the record that began this incarnation. */
  readonly born: number
}

export const reducer: Reducer<Seen> = {
  initial: { count: 0, chain: 0, alive: false, born: 0 },
  apply: (seen, counted) => {
    const { type, id } = counted.record
    if (type === 'segment.sealed') return seen
    // Of a record that is written twice, either copy may be the one that is left.
    const place = WRITTEN_TWICE.has(type) ? '' : counted.at
    const next = { ...seen, count: seen.count + 1, chain: crc32(`${place} ${id}`, seen.chain) }
    if (type === 'session.created') return { ...next, alive: true, born: counted.at }
    return type === 'session.deleted' ? { ...next, alive: false } : next
  },
  checkpoint: (seen) => ({ ...seen }),
  restore: (checkpoint: JsonObject) => checkpoint as unknown as Seen,
  keysOf: ({ record, at, end, crc }: Counted) =>
    typeof record.key === 'string'
      ? [{ key: hashKey('operation', record.key), at, length: end - at, crc, index: 0, digest: '0'.repeat(32) }]
      : [],
  keysFrom: (seen) => seen.born,
}
