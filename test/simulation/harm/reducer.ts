/** What the processes of a run with harms keep of a journal: how many records counted, whose journal it is, and which losses were accepted. */

import type { Reducer } from '../../../src/journal/reducer.ts'
import type { Counted } from '../../../src/record/fold.ts'
import { hashKey } from '../../../src/record/key-hash.ts'
import type { JsonObject } from '../../../src/record/record.ts'

export const SPACE = 'space'

export interface Seen {
  /** Records that counted, seals apart. */
  readonly count: number
  /** Where the last of them ends. */
  readonly end: number
  readonly alive: boolean
  /** Position of the record that began this incarnation. */
  readonly born: number
  /** Segments before this position may have been purged. */
  readonly purged: number
  /** The session that this journal says it belongs to. */
  readonly session: string | null
  readonly accepted: readonly { readonly from: number; readonly to: number }[]
  /** It counted other records before an acceptance than were left, as the acceptance says. */
  readonly isStale: boolean
  /** A checkpoint was made from such a state. */
  readonly isRevived: boolean
}

const INITIAL: Seen = {
  ...{ count: 0, end: 0, alive: false, born: 0, purged: 0, session: null, accepted: [] },
  isStale: false,
  isRevived: false,
}

function apply(before: Seen, { record, at, end }: Counted): Seen {
  if (record.type === 'segment.sealed') return record.why === 'purge' ? { ...before, purged: end } : before
  const isStale = before.isStale || (record.type === 'damage.acknowledged' && record.left !== before.count)
  const seen = { ...before, count: before.count + 1, end, isStale }
  switch (record.type) {
    case 'session.created':
      return { ...seen, alive: true, born: at, session: String(record.session) }
    case 'session.deleted':
      return { ...seen, alive: false }
    case 'damage.acknowledged': {
      const accepted = [...seen.accepted, { from: Number(record.lost_from), to: Number(record.lost_to) }]
      // A session that lost the record which began it starts here.
      return seen.session === null ? { ...seen, alive: true, session: String(record.session), accepted } : { ...seen, accepted }
    }
    default:
      return seen
  }
}

export const reducer: Reducer<Seen> = {
  initial: INITIAL,
  apply,
  checkpoint: (seen) => ({ ...seen, isRevived: seen.isStale }) as unknown as JsonObject,
  restore: (checkpoint) => checkpoint as unknown as Seen,
  identity: ({ session }) => (session === null ? undefined : { space: SPACE, id: session }),
  mayStartAt: ({ count, born, purged, accepted }, first) => {
    const start = Math.max(born, purged)
    return count === 0 || first <= start || accepted.some(({ from, to }) => from <= start && to >= first)
  },
  keysOf: ({ record, at, end, crc }: Counted) =>
    typeof record.key === 'string'
      ? [{ key: hashKey('operation', record.key), at, length: end - at, crc, index: 0, digest: '0'.repeat(32) }]
      : [],
  keysFrom: (seen) => seen.born,
}
