import { LIMITS } from '../record/limits.ts'
import type { JsonObject } from '../record/record.ts'
import type { KeptMessage } from '../store/messages/stored-message.ts'
import type { Page, PageOptions } from '../store/messages/transcript.ts'

/** Every message of a session, archived ones too, the first one first. */
export async function* allMessages(pageOf: (options: PageOptions) => Promise<Page<JsonObject>>): AsyncGenerator<KeptMessage> {
  for (let after: string | undefined; ; ) {
    const where = after === undefined ? { from: 'start' as const } : { after }
    const { messages, more } = await pageOf({ ...where, archived: true, limit: LIMITS.pageMessages })
    yield* messages
    after = messages.at(-1)?.id
    if (!more || after === undefined) return
  }
}
