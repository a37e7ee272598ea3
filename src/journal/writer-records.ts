/** Records that a writer adds without a caller: what it could not read, and the seal of a segment. */
import { type Clock, isoTime } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { Journal } from '../engine/port.ts'
import { countedAt } from '../record/fold.ts'
import { type Body, encodeBody } from '../record/line.ts'
import type { LineCipher } from '../record/line-cipher.ts'
import type { Draft, SealReason } from '../record/record.ts'
import type { Reducer } from './reducer.ts'

type Notice = Pick<Draft, 'type' | 'payload'> | undefined

/** What a writer needs to make records of its own. */
export interface RecordMaker {
  readonly cipher?: LineCipher | undefined
  readonly clock: Clock
  readonly ids: Ids
}

export interface Writer extends RecordMaker {
  readonly journal: Journal
}

/** What this writer noticed as lost, as the record before its own; undefined if there is nothing to write down. */
export function noticeBody({ cipher, clock, ids }: RecordMaker, notice: Notice): Body | undefined {
  if (notice === undefined) return undefined
  const now = clock.now()
  return encodeBody({ id: ids.next(now), at: isoTime(now), ...notice }, cipher)
}

/**
 * The state with what this writer noticed as lost and has not written yet: what it decides on, and what the checkpoint after a seal says. No record can say
 * it there, and if the writer died after the roll, the next process would not read the lines before it.
 */
export function withNotice<S>(reducer: Reducer<S>, state: S, notice: Notice, end: number): S {
  if (notice === undefined) return state
  return reducer.apply(state, countedAt({ draft: { id: '', at: '', ...notice }, place: { at: end, end, crc: '' }, prev: '' }))
}

/** `from`: lines from here on may not be on the disk. `next`: where the journal continues, if not at the end of the seal. */
export function sealBody(
  { clock, ids }: RecordMaker,
  why: SealReason,
  where: { readonly from?: number; readonly next?: number } = {},
): Body {
  const now = clock.now()
  return encodeBody({ id: ids.next(now), at: isoTime(now), type: 'segment.sealed', payload: { why, ...where } })
}
