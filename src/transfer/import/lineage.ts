/** What a fork has in common with the session that it comes from, where the source has copies of it. */

import type { ParentItem } from '../../formats/item.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import type { Handle } from '../../store/handle.ts'
import type { StoredMessage } from '../../store/messages/stored-message.ts'

/** The last message that they share; undefined if they share none. */
export async function sharedWith(parent: Handle, { message, before }: ParentItem, own: readonly string[]): Promise<string | undefined> {
  if (message !== undefined && message !== null && (await (await parent.transcript()).locate(message)) !== undefined) return message
  let shared: string | undefined
  let index = 0
  for await (const stored of messagesOf(parent)) {
    const ordinal = (stored.message.origin as JsonObject | undefined)?.ordinal
    const same = before === undefined ? own[index] === stored.id : typeof ordinal === 'number' && ordinal < before
    if (!same) break
    shared = stored.id
    index++
  }
  return shared
}

async function* messagesOf(handle: Handle): AsyncGenerator<StoredMessage> {
  const transcript = await handle.transcript()
  for (let after: string | undefined; ; ) {
    const where = after === undefined ? { from: 'start' as const } : { after }
    const { messages, more } = await transcript.page({ ...where, archived: true, limit: LIMITS.pageMessages })
    yield* messages
    after = messages.at(-1)?.id
    if (!more || after === undefined) return
  }
}
