/** Giving a message other content. What it was stays readable. */
import { HoldfastError } from '../../errors.ts'
import { checkId, copyObject, objectText } from '../../session/check.ts'
import * as decide from '../../session/decide.ts'
import { digestOf } from '../../session/json-text.ts'
import { noMessage } from '../../session/refusals.ts'
import type { DamagedPlace } from '../damage/damage.ts'
import { type Handle, type WriteOptions, type Written, written } from '../handle.ts'
import type { WriterParts } from '../parts.ts'
import { admit, admitAmount } from './admission.ts'

export interface ReplaceOptions<M extends object> extends WriteOptions {
  /** The content that the message must still have. */
  readonly old?: M
}

export async function replace(handle: Handle<WriterParts>, id: string, message: object, options: ReplaceOptions<object>): Promise<Written> {
  const copy = copyObject('A message', admit(handle.parts, handle.id, 'message', copyObject('A message', message)))
  const expected = options.old === undefined ? undefined : objectText('The old message', options.old).digest
  if (handle.parts.quotas !== undefined) await admitAmount(handle, { bytes: JSON.stringify(copy).length })
  for (;;) {
    const transcript = await handle.transcript()
    const newest = await transcript.newest(checkId('The message id', id))
    if (newest === undefined) throw (await transcript.whyUnknown(id)) ?? noMessage(id)
    if (newest.erased) throw erased(id)
    if (expected !== undefined && newest.damage.length > 0) throw mayBeOther(id, newest.damage)
    const terms = handle.terms('replace', { id, message: copy }, options, newest.located)
    const { message: content, prior } = newest
    const replacement = { target: id, message: copy, old: digestOf(content), prior, expected }
    try {
      return written(await handle.submit(terms, (full) => decide.replace(full, replacement)))
    } catch (error) {
      // Another caller replaced it first. If this caller set no condition, the later call wins.
      if (options.expect !== undefined || !isReplacedMeanwhile(error)) throw error
    }
  }
}

/** The content that can be read is not certainly the last one, so nothing can be compared with it. */
function mayBeOther(id: string, damage: readonly DamagedPlace[]): HoldfastError {
  const where = damage.length === 1 ? '1 place after it cannot' : `${damage.length} places after it cannot`
  return new HoldfastError(
    'DAMAGED',
    `The message "${id}" may have other content than can be read: ${where} be read. Run \`holdfast doctor\` to see what is lost, or replace it without \`old\`.`,
    { details: { message_id: id, places: damage.length } },
  )
}

function erased(id: string): HoldfastError {
  return new HoldfastError('CONFLICT', `The message "${id}" was erased. It cannot be given content again.`, {
    details: { reason: 'erased', message_id: id },
  })
}

function isReplacedMeanwhile(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === 'CONFLICT' && error.details.reason === 'replaced meanwhile'
}
