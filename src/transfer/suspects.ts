/** Messages that say the same as another one did seconds before, under another id: retries of a client, perhaps. They are told, never dropped. */
import type { Json } from '../record/record.ts'
import type { MessageItem } from './item.ts'

const WITHIN_MS = 10_000
const REMEMBERED = 32

export class Suspects {
  /** Of each session, what was said last. */
  readonly #recent = new Map<string, Map<string, { readonly id: string; readonly ms: number }>>()

  /** The id of the message that said the same just before, if one did. */
  look({ session, id, at, message }: MessageItem): string | undefined {
    if (at === undefined) return undefined
    const said = textOf(message.role, message.content ?? message.parts ?? message)
    if (said === undefined) return undefined
    const recent = this.#recent.get(session) ?? new Map<string, { readonly id: string; readonly ms: number }>()
    this.#recent.set(session, recent)
    const ms = Date.parse(at)
    const before = recent.get(said)
    recent.delete(said)
    recent.set(said, { id, ms })
    if (recent.size > REMEMBERED) recent.delete(recent.keys().next().value as string)
    return before === undefined || before.id === id || Math.abs(ms - before.ms) > WITHIN_MS ? undefined : before.id
  }
}

function textOf(role: Json | undefined, content: Json): string | undefined {
  if (content === '' || content === null) return undefined
  return `${String(role)} ${typeof content === 'string' ? content : JSON.stringify(content)}`
}
