/**
 * Lets a journal that lost bytes continue. The record that `describe` makes and a seal are written together, at the end of what is left; the
 * next segment starts in the next epoch, beyond every position that was ever used.
 *
 * If the process dies before the write, nothing happened. After it, the loss is accepted, and the next writer makes the segment.
 */
import { isoTime } from '../engine/clock.ts'
import { HoldfastError, withOutcomeUnknown } from '../errors.ts'
import { encodeBody, Group } from '../record/line.ts'
import type { Draft } from '../record/record.ts'
import { nextEpoch } from '../record/watermark.ts'
import { type Loss, lossError } from './loss.ts'
import type { Tail } from './tail.ts'
import { noticeBody, sealBody, type Writer } from './writer-records.ts'

export interface Acceptance<S> extends Writer {
  readonly tail: Tail<S>
  /** How often others may write first. */
  readonly races: number
  readonly describe: (state: S, loss: Loss) => Pick<Draft, 'type' | 'payload'>
  /** Throws if this software must not begin a segment here. */
  readonly requireKnown: () => void
}

/** Returns the loss, or undefined if there is none, for example because another process accepted it first. */
export async function acceptLoss<S>(acceptance: Acceptance<S>): Promise<Loss | undefined> {
  let accepted: Loss | undefined
  const onAccepted = (loss: Loss): void => {
    accepted = loss
  }
  try {
    await untilNothingIsLost(acceptance, onAccepted)
    return accepted
  } catch (error) {
    // It stands; only the next segment is not there yet.
    throw accepted === undefined ? error : withOutcomeUnknown(error)
  }
}

async function untilNothingIsLost<S>(acceptance: Acceptance<S>, onAccepted: (loss: Loss) => void): Promise<void> {
  const { tail, races, requireKnown } = acceptance
  let from = Number.POSITIVE_INFINITY
  for (let race = 0; race <= races; race++) {
    tail.unload()
    await tail.load()
    const { loss } = tail
    if (loss?.as === 'identity') throw lossError(loss)
    // The segment after the seal is made at once; another process would make it before its next write. And a segment that was begun and never finished
    // is finished first, with a checkpoint that still reports the loss: it is accepted in that segment.
    if (!tail.writable) {
      requireKnown()
      await tail.roll(true)
    } else if (loss === undefined) return
    else {
      // A checkpoint that was written here in the meantime does not make up for a lost beginning.
      from = Math.min(from, loss.from)
      if (await place(acceptance, { ...loss, from })) onAccepted({ ...loss, from })
    }
  }
  throw new HoldfastError('UNAVAILABLE', 'Other processes kept writing to this journal. Nothing was accepted; try again.')
}

/** False if another process wrote first. */
async function place<S>(acceptance: Acceptance<S>, loss: Loss): Promise<boolean> {
  const { journal, cipher, tail, clock, ids, describe } = acceptance
  await cipher?.ready()
  const now = clock.now()
  const group = new Group(tail.end, tail.prev)
  const notice = noticeBody(acceptance, tail.notice)
  if (notice !== undefined) group.add(notice)
  group.add(encodeBody({ id: ids.next(now), at: isoTime(now), ...describe(tail.state, loss) }, cipher))
  group.add(sealBody(acceptance, 'damage accepted', { next: nextEpoch(loss.to, tail.end) }))
  const options = { hurry: true, urgent: true, accepting: true, opened: tail.opened }
  const { moved, placed, refusal } = await journal.append(tail.segment, tail.end, group.bytes, options)
  if (refusal !== undefined) throw refusal
  // What was loaded rests on the epoch before, whatever became of the write.
  tail.unload()
  return !moved && placed === group.bytes.length
}
