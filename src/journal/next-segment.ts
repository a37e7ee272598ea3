/**
 * Makes the segment after a sealed one, or finishes it. Its checkpoint is the state up to the seal and nothing after it. If the sealed segment cannot
 * be synced, the new one carries its lines.
 *
 * If the process dies before `roll`, nothing happened. During it, the next process finds a segment without a whole checkpoint, and finishes it.
 */
import type { Journal } from '../engine/port.ts'
import { isAcceptance } from '../record/fold.ts'
import { encodeCheckpoint, LEAD_IN, type Line } from '../record/line.ts'
import type { LineCipher } from '../record/line-cipher.ts'
import { carryErasures, countedLines } from './carried-lines.ts'
import type { Reading } from './reading.ts'
import type { Reducer } from './reducer.ts'
import { least, type Unsynced } from './unsynced.ts'
import { withNotice } from './writer-records.ts'

export interface SegmentMaker<S> {
  readonly journal: Journal
  readonly reducer: Reducer<S>
  readonly cipher: LineCipher | undefined
  /** May use the space that is kept in reserve. */
  readonly urgent: boolean
  /** Where a loss begins that is not accepted; undefined if there is none. */
  readonly lostFrom: number | undefined
}

export interface MadeSegment {
  readonly first: number
  /** From this position on, lines of earlier segments may not be on the disk; undefined if all are. */
  readonly from: number | undefined
  readonly carried: readonly Line[]
}

export async function makeNextSegment<S>(maker: SegmentMaker<S>, reading: Reading<S>, unsynced: Unsynced): Promise<MadeSegment> {
  const { journal, urgent } = maker
  const first = reading.fold.seal?.next ?? reading.fold.segment
  const from = await syncOrCarryFrom(journal, reading, unsynced)
  const carried = from === undefined ? [] : await countedLines(journal, from, first)
  await maker.cipher?.ready()
  const lines = [...checkpoints(maker, reading, { first, carries: carried.length }), ...carried.map(({ bytes }) => bytes)]
  await journal.roll(first, Buffer.concat(lines.flatMap((line) => [LEAD_IN, line])), { urgent })
  unsynced.clear()
  if (from !== undefined) await carryErasures(journal, first, from, carried)
  return { first, from, carried }
}

/** Makes the sealed segment durable. If that fails, or failed before: the position from which its lines must be carried. */
async function syncOrCarryFrom<S>(journal: Journal, { fold, lastSeal }: Reading<S>, unsynced: Unsynced): Promise<number | undefined> {
  const from = least((fold.seal ?? lastSeal)?.from, unsynced.carryFrom(fold))
  if (from !== undefined || fold.seal === undefined) return from
  try {
    await journal.sync(fold.segment)
    unsynced.delete(fold.segment)
    return undefined
  } catch (error) {
    if (!unsynced.suspect(error)) throw error
    return unsynced.carryFrom(fold)
  }
}

/** A purge removes the earlier segments, so nothing else could tell the state if this line rotted: it is written twice. */
function checkpoints<S>(
  { reducer, cipher, lostFrom }: SegmentMaker<S>,
  { fold, lastSeal, state, notice }: Reading<S>,
  { first, carries }: { readonly first: number; readonly carries: number },
): readonly Buffer[] {
  const seal = fold.seal ?? lastSeal
  // The checkpoint must not hide what was lost before it. A loss that begins where the sealed segment ends is after it.
  const isAfterLoss = lostFrom !== undefined && (lostFrom < first || seal?.next !== first)
  const checkpoint = encodeCheckpoint(
    {
      base: first,
      id: fold.lastId,
      at: fold.lastAt,
      prev: fold.prev,
      carries,
      unrooted: (isAfterLoss || !state.isRooted) && !isAcceptance(seal),
      state: reducer.checkpoint(withNotice(reducer, state.value, notice, first)),
    },
    cipher,
  )
  return seal?.why === 'purge' ? [checkpoint, checkpoint] : [checkpoint]
}
