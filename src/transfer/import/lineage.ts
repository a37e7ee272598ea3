/** What a fork has in common with the session that it comes from, where the source has copies of it. */

import type { ParentItem } from '../../formats/item.ts'
import type { JsonObject } from '../../record/record.ts'
import type { Handle } from '../../store/handle.ts'
import { allMessages } from '../all-messages.ts'

/** The last message that they share; undefined if they share none. */
export async function sharedWith(parent: Handle, { message, before }: ParentItem, own: readonly string[]): Promise<string | undefined> {
  if (message !== undefined && message !== null && (await (await parent.transcript()).locate(message)) !== undefined) return message
  let shared: string | undefined
  let index = 0
  const transcript = await parent.transcript()
  for await (const stored of allMessages((page) => transcript.page(page))) {
    const ordinal = (stored.message.origin as JsonObject | undefined)?.ordinal
    const same = before === undefined ? own[index] === stored.id : typeof ordinal === 'number' && ordinal < before
    if (!same) break
    shared = stored.id
    index++
  }
  return shared
}
