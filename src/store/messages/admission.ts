/**
 * What stands between callers and the journal: a function of whoever opened the store sees everything that is said, before it is encoded,
 * indexed or told to anybody, and changes or refuses it. Every way in passes here: appending, replacing, importing, copying, and the same
 * over HTTP. The store's own facts do not.
 */
import { KEY_SPACE, STORE_SPACE } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import type { Redact } from '../../message/redact.ts'
import type { JsonObject } from '../../record/record.ts'
import { objectText } from '../../session/check.ts'
import type { JsonText } from '../../session/json-text.ts'
import type { Handle } from '../handle.ts'
import type { AdmissionParts, WriterParts } from '../parts.ts'
import type { About, BeforeAppend } from './before-append.ts'

export function admit<T extends object>(parts: AdmissionParts, session: string, kind: About['kind'], value: T): T {
  const { beforeAppend, space } = parts
  if (beforeAppend === undefined || space === STORE_SPACE) return value
  try {
    return beforeAppend(value as unknown as JsonObject, { space, session, kind }) as unknown as T
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    throw new HoldfastError('INVALID_ARGUMENT', `The ${kind} was refused before it was written: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** The same for a message that is text already: it is parsed only if somebody wants to see it. */
export function admitText(parts: AdmissionParts, session: string, message: JsonText): JsonText {
  if (parts.beforeAppend === undefined || parts.space === STORE_SPACE) return message
  const value = message.value as JsonObject
  const admitted = admit(parts, session, 'message', value)
  return admitted === value ? message : objectText('The message', admitted)
}

/** Refuses what is more than the quota of this space, or of the key that it comes with. The store's own facts have none. */
export async function admitAmount(
  handle: Handle<WriterParts>,
  amount: { readonly messages?: number; readonly bytes?: number },
): Promise<void> {
  const { quotas, space, key } = handle.parts
  if (quotas === undefined || space === STORE_SPACE || space === KEY_SPACE) return
  const sessions = (await handle.state()).status === 'live' ? 0 : 1
  await quotas.admit({ space }, { ...amount, sessions })
  // Behind that of the space, which is put right when it is looked at again: what counts here is never given back. Its messages a minute are
  // counted where its requests are.
  if (key !== undefined) await quotas.admit({ key }, { sessions, bytes: amount.bytes ?? 0 })
}

/** The same for bytes that are kept for a space beside its sessions. */
export async function admitBytes({ quotas, space, key }: AdmissionParts, bytes: number): Promise<void> {
  await quotas?.admit({ space }, { bytes })
  if (key !== undefined) await quotas?.admit({ key }, { bytes })
}

/** The function for two wishes: the caller's comes first, so that nothing that it adds is left unseen. */
export function both(first: BeforeAppend | undefined, redact: Redact): BeforeAppend {
  return (value, about) => redact(first === undefined ? value : first(value, about))
}
