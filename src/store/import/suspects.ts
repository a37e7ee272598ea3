/** Messages that say the same as another one did seconds before, under another id: retries of a client, perhaps. They are told, never dropped. */
import type { Json } from '../../record/record.ts'
import type { MessageItem } from '../../transfer/item.ts'
import type { Draft } from './report.ts'

const WITHIN_MS = 10_000
const REMEMBERED = 32
const TOLD = 1000

export class Suspects {
  readonly #report: Draft
  readonly #recent = new Map<string, { readonly id: string; readonly ms: number }>()

  constructor(report: Draft) {
    this.#report = report
  }

  look({ id, at, message }: MessageItem): void {
    if (at === undefined) return
    const said = textOf(message.role, message.content ?? message.parts ?? message)
    if (said === undefined) return
    const ms = Date.parse(at)
    const before = this.#recent.get(said)
    this.#recent.delete(said)
    this.#recent.set(said, { id, ms })
    if (this.#recent.size > REMEMBERED) this.#recent.delete(this.#recent.keys().next().value as string)
    if (before === undefined || before.id === id || Math.abs(ms - before.ms) > WITHIN_MS) return
    if (this.#report.suspects.length < TOLD) this.#report.suspects.push({ first: before.id, second: id })
  }
}

function textOf(role: Json | undefined, content: Json): string | undefined {
  if (content === '' || content === null) return undefined
  return `${String(role)} ${typeof content === 'string' ? content : JSON.stringify(content)}`
}
