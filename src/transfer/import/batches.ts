/**
 * Messages of an import, on their way into one session: many in one record, several records under way, in order. A batch that turns out to
 * be known in part is looked through message by message: what is new is added, what has other content by now replaces it.
 */

import { HoldfastError } from '../../errors.ts'
import type { ReadyMessage } from '../../formats/ready.ts'
import { digest } from '../../formats/values.ts'
import { estimateTokens } from '../../message/tokens.ts'
import type { Outcome } from '../../session/command.ts'
import * as decide from '../../session/decide.ts'
import { digestOf } from '../../session/json-text.ts'
import type { MessagesAppended, MessageUsage, ModelCall } from '../../session/records.ts'
import { isSameMessage } from '../../session/same-message.ts'
import type { Point } from '../../session/state.ts'
import { recordUsage } from '../../session/usage.ts'
import type { Handle } from '../../store/handle.ts'
import { admitAmount } from '../../store/messages/admission.ts'
import { Chain } from '../../store/messages/chain.ts'
import type { WriterParts } from '../../store/parts.ts'
import type { ImportScope } from './import-scope.ts'
import type { ImportTimes } from './import-times.ts'
import { knownMessages } from './known-messages.ts'
import type { ReportDraft } from './report.ts'

export interface Batch {
  readonly messages: readonly ReadyMessage[]
  /** The messages as they stand in a record, with commas between them, and how many tokens they take, where that is known. */
  readonly bytes?: Uint8Array
  readonly tokens?: number
  /** What the calls took that messages came from. */
  readonly usage?: readonly MessageUsage[] | undefined
  /** The message that the first one follows, if that is not the head; null: none. */
  readonly after?: string | null | undefined
  /** Called when nobody looks at the messages any more. */
  readonly release?: (() => void) | undefined
}

const UNDER_WAY = 6

export class Batches {
  readonly #handle: Handle<WriterParts>
  readonly #report: ReportDraft
  readonly #times: ImportTimes
  /** What a fork inherits is looked up for each record; one at a time keeps them in order. */
  readonly #most: number
  #chain = new Chain()
  #underWay: { readonly batch: Batch; readonly outcome: Promise<Outcome | { readonly error: unknown }> }[] = []

  constructor({ report, times }: Pick<ImportScope, 'report' | 'times'>, handle: Handle<WriterParts>, isFork: boolean) {
    this.#handle = handle
    this.#report = report
    this.#times = times
    this.#most = isFork ? 1 : UNDER_WAY
  }

  async add(batch: Batch): Promise<void> {
    if (this.#handle.parts.quotas !== undefined) await admitAmount(this.#handle, { bytes: bytesOf(batch) })
    if (batch.after !== undefined) await this.flush()
    const parent = batch.after === undefined ? undefined : await this.#pointOf(batch.after)
    const outcome = this.#append(batch, parent).catch((error: unknown) => ({ error }))
    this.#underWay.push({ batch, outcome })
    while (this.#underWay.length >= this.#most) await this.#settle()
  }

  async flush(): Promise<void> {
    while (this.#underWay.length > 0) await this.#settle()
  }

  /** Gives a message other content. With `exact` it happens under that key, whatever the content was before; otherwise not, if it had that content once: whoever changed it since knows better. */
  async replace(
    { id, text, at }: Pick<ReadyMessage, 'id' | 'text' | 'at'>,
    exact?: { readonly key: string; readonly digest: string },
  ): Promise<boolean> {
    const transcript = await this.#handle.transcript()
    if (exact === undefined)
      for await (const { message } of transcript.contents(id)) if (isSameMessage(id, text, digestOf(message))) return false
    const newest = await transcript.newest(id)
    // What was erased here is not brought back.
    if (newest === undefined || newest.erased) return false
    const { message: content, prior, located } = newest
    const replacement = { target: id, message: text.value, old: digestOf(content), prior }
    await this.#handle.submit({ born: located.born, at: this.#times.at(at), ...exact }, (full) => decide.replace(full, replacement))
    return true
  }

  /**
   * What the call took that a message came from which is here already: its record tells it, unless it was imported before the call had ended. Then it counts once, under a
   * key; with the session that said it, not with its forks.
   */
  async recordUsage({ id, at }: Pick<ReadyMessage, 'id' | 'at'>, { model, inputTokens, outputTokens }: ModelCall): Promise<void> {
    const located = await (await this.#handle.transcript()).locate(id)
    if (located === undefined || located.journal !== this.#handle.id) return
    const { usage = [] } = located.found.record as Partial<MessagesAppended>
    if (usage.some(({ index }) => index === located.index)) return
    const once = { key: `import:usage-of:${digest(id)}`, digest: digest(`usage-of ${id}`) }
    await this.#handle.submit({ ...once, at: at ?? undefined }, (full) => recordUsage(full, { model, inputTokens, outputTokens }))
  }

  #append({ messages, bytes, tokens, usage }: Batch, parent: { point: Point; born?: number } | undefined): Promise<Outcome> {
    const link = this.#chain.link()
    const last = messages.findLast(({ at }) => at !== null)?.at
    const times = last === undefined ? undefined : messages.map(({ at }) => at)
    const made = {
      messages: messages.map(({ text }) => text),
      ids: messages.map(({ id }) => id),
      bytes,
      times,
      usage: usage?.length === 0 ? undefined : usage,
      tokens: tokens ?? messages.reduce((sum, { text }) => sum + estimateTokens(text.text), 0),
      parent: parent?.point,
    }
    return this.#handle.submit({ at: this.#times.at(last), born: parent?.born }, (full) => link(decide.append(full, made)))
  }

  async #settle(): Promise<void> {
    const first = this.#underWay.shift()
    if (first === undefined) return
    const outcome = await first.outcome
    if (!('error' in outcome)) {
      this.#count(first.batch, outcome.duplicate)
      first.batch.release?.()
      return
    }
    if (!isKnownInPart(outcome.error)) throw outcome.error
    // Behind a batch that was refused none was appended: they are gone through in order.
    const rest = this.#underWay
    this.#underWay = []
    await Promise.all(rest.map((one) => one.outcome))
    this.#chain = new Chain()
    for (const { batch } of [first, ...rest]) {
      await this.#addUnknown(batch)
      batch.release?.()
    }
  }

  #count({ messages }: Batch, duplicate: boolean): void {
    if (duplicate) this.#report.skipped += messages.length
    else this.#report.messages += messages.length
  }

  async #addUnknown({ messages, usage = [], after }: Batch): Promise<void> {
    const known = await knownMessages(
      this.#handle,
      messages.map(({ id }) => id),
    )
    const fresh = messages.filter((_, index) => known[index] === undefined)
    const changed = messages.filter(({ id, text }, index) => {
      const entry = known[index]
      return entry !== undefined && !isSameMessage(id, text, entry.digest)
    })
    let replaced = 0
    for (const one of changed) if (await this.replace(one)) replaced++
    for (const one of usageOf(changed, messages, usage)) await this.recordUsage(changed[one.index] as ReadyMessage, one)
    this.#report.skipped += messages.length - fresh.length
    if (replaced > 0) this.#report.healed.push(`${replaced} messages have other content than before; what they were stays readable.`)
    if (fresh.length === 0) return
    const before = messages[messages.indexOf(fresh[0] as ReadyMessage) - 1]?.id ?? after
    const parent = after === undefined || before === undefined ? undefined : await this.#pointOf(before)
    const rest = { messages: fresh, usage: usageOf(fresh, messages, usage) }
    this.#count(rest, (await this.#append(rest, parent)).duplicate)
  }

  async #pointOf(id: string | null): Promise<{ point: Point; born?: number } | undefined> {
    if (id === null) return { point: { at: null, n: 0, t: 0 } }
    // One that is not there: then the order of the source is all there is.
    const located = await (await this.#handle.transcript()).locate(id)
    return located === undefined ? undefined : { point: located.point, born: located.born }
  }
}

/** Of some of the messages. */
export function usageOf(
  some: readonly ReadyMessage[],
  all: readonly (ReadyMessage | undefined)[],
  usage: readonly MessageUsage[],
): MessageUsage[] {
  return usage.flatMap((one) => {
    const message = all[one.index]
    return message === undefined || !some.includes(message) ? [] : [{ ...one, index: some.indexOf(message) }]
  })
}

function isKnownInPart(error: unknown): boolean {
  if (!(error instanceof HoldfastError) || error.code !== 'CONFLICT') return false
  return error.details.reason === 'part of the batch' || error.details.reason === 'other body'
}

function bytesOf({ bytes, messages }: Batch): number {
  return bytes?.length ?? messages.reduce((sum, { text }) => sum + text.text.length, 0)
}
