import type { Appended } from '../store/messages/append.ts'
import type { Context } from './context.ts'
import { inLine } from './terminal.ts'

/** Tells that a message is durable. */
export async function acknowledge({ out }: Context, session_id: string, { id, version, duplicate }: Appended): Promise<void> {
  await out.result({ session_id, message_id: id, version, duplicate }, () => inLine(id))
}
