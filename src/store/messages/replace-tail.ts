/**
 * Other messages in place of the last ones, as one record: what a caller needs who wants to take messages back, or to rewrite them, and to be
 * sure that they are the ones he saw. They are compared before the write, and the head must then still be where it was; the log decides.
 */
import { isDeepStrictEqual } from 'node:util'
import { HoldfastError } from '../../errors.ts'
import { estimateTokens } from '../../message/tokens.ts'
import { jsonBytes } from '../../record/json-bytes.ts'
import { LIMITS } from '../../record/limits.ts'
import { samePoint } from '../../session/branch.ts'
import { invalid } from '../../session/check.ts'
import type { Terms } from '../../session/command.ts'
import { append, moveTo } from '../../session/decide.ts'
import type { JsonText } from '../../session/json-text.ts'
import { otherEnd } from '../../session/refusals.ts'
import { type Point, type SessionState, START } from '../../session/state.ts'
import type { DamagedPlace } from '../damage/damage.ts'
import { type Handle, type WriteOptions, type Written, written } from '../handle.ts'
import { Transcript } from './transcript.ts'

interface ReplacedTail {
  readonly last: readonly JsonText[]
  readonly messages: readonly JsonText[]
  readonly ids: readonly (string | null)[] | undefined
}

/** What somebody saw who looked at the end of a session. */
interface FoundTail {
  /** The message in front of the last ones; undefined if those are not what was expected. */
  readonly parent: Point | undefined
  readonly state: SessionState
}

export async function replaceTail(handle: Handle, { last, messages, ids }: ReplacedTail, options: WriteOptions): Promise<Written> {
  const most = LIMITS.messagesPerRecord
  if (messages.length > most || last.length > most) throw invalid(`One call replaces at most ${most} messages.`)
  if (messages.length === 0 && last.length === 0)
    throw invalid('There is nothing to replace: give the last messages, or new ones, or both.')
  const tokens = messages.reduce((sum, { text }) => sum + estimateTokens(text), 0)
  // This word is in the digests of calls that were made before: it stays.
  const terms = handle.terms('exchange', { last, messages, ids: ids ?? null }, options)
  if (last.length === 0) return written(await handle.submitCreating(terms, (full) => append(full, { messages, ids, tokens })))
  for (;;) {
    const tail = await look(handle, last)
    const make = (full: Terms) => {
      const guard = (state: SessionState): HoldfastError | undefined => refusalOf(tail, state)
      const { parent = START } = tail
      if (messages.length === 0) return moveTo(full, parent, { why: 'revert' }, guard)
      return append(full, { messages, ids, tokens, parent, guard })
    }
    try {
      return written(await handle.submit({ ...terms, born: tail.state.born }, make))
    } catch (error) {
      const changed = error instanceof HoldfastError && error.details.reason === 'changed meanwhile'
      if (!changed) throw error
    }
  }
}

function refusalOf({ parent, state: { head, replaced } }: FoundTail, now: SessionState): HoldfastError | undefined {
  if (!samePoint(now.head, head) || now.replaced !== replaced) return otherEnd('changed meanwhile')
  return parent === undefined ? otherEnd('other messages') : undefined
}

async function look(handle: Handle, last: readonly JsonText[]): Promise<FoundTail> {
  const state = await handle.liveState()
  const transcript = new Transcript(handle.parts, handle.id, state)
  // Room for equal messages and the one before them, whose digits and brackets may be counted as four times what they are.
  const bytes = last.reduce((sum, { value }) => sum + jsonBytes(value), 4 * LIMITS.recordBytes)
  const { messages, more, damage } = await transcript.page({ limit: last.length + 1, archived: true }, { bytes })
  const end = messages.slice(-last.length)
  const same = end.length === last.length && end.every(({ message }, index) => isDeepStrictEqual(message, last[index]?.value))
  if (!same) return { state, parent: undefined }
  await requireCertain(transcript, end[0]?.id, damage)
  const before = messages.at(-last.length - 1)
  if (before === undefined && more) return { state, parent: undefined }
  const located = before === undefined ? undefined : await transcript.locate(before.id)
  return { state, parent: before === undefined ? START : located?.point }
}

/** The content of a message can be compared only if no record after it is lost: it may have replaced the message, or been the last one itself. */
async function requireCertain(transcript: Transcript, first: string | undefined, damage: readonly DamagedPlace[]): Promise<void> {
  const open = damage.filter(({ accepted }) => accepted !== true)
  if (first === undefined || open.length === 0) return
  const position = (await transcript.locate(first))?.point.at?.[0] ?? -1
  const places = open.filter((place) => place.session === undefined && place.position > position).length
  if (places === 0) return
  throw new HoldfastError(
    'DAMAGED',
    'The last messages may be others than can be read, because a record after them is lost. Run `holdfast doctor` to see what is lost, and accept the damage to continue.',
    { details: { places } },
  )
}
