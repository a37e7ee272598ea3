/** The messages of a source on their way into a session: admitted by the store, then written in batches, or counted in a dry run. */
import { messagesOf, type ReadyMessages } from '../../formats/ready.ts'
import { admitText } from '../../store/messages/admission.ts'
import { type Batch, usageOf } from './batches.ts'
import { type ImportScope, reportRefusal } from './import-scope.ts'
import type { UsageLimit } from './usage-limit.ts'

/** Where admitted messages go. It calls `release` of a batch when it no longer needs the messages. */
export interface MessageSink {
  add(batch: Batch): Promise<void>
}

export class MessageWriter {
  readonly #scope: ImportScope
  readonly #session: string
  readonly #usage: UsageLimit
  readonly #sink: MessageSink
  /** The id of the last message that was written. */
  last: string | undefined

  constructor(scope: ImportScope, session: string, usage: UsageLimit, sink: MessageSink) {
    this.#scope = scope
    this.#session = session
    this.#usage = usage
    this.#sink = sink
  }

  async write(run: ReadyMessages): Promise<void> {
    const { begin, report } = this.#scope
    report.recovered += run.recovered
    report.skipped += run.repeated
    const admitted = this.#admitted(run)
    if (admitted.messages.length === 0) {
      run.release?.()
      return
    }
    const after = run.after === undefined && begin.exact === true ? this.last : run.after
    this.last = admitted.messages.at(-1)?.id
    await this.#sink.add({ ...admitted, after, release: run.release })
  }

  #admitted(run: ReadyMessages): Pick<Batch, 'messages' | 'bytes' | 'tokens' | 'usage'> {
    const messages = messagesOf(run)
    const usage = this.#usage.counted(run.usage)
    const { parts } = this.#scope
    if (parts.beforeAppend === undefined) return { messages, bytes: run.bytes, tokens: run.tokens, usage }
    const admitted = messages.map((message) => {
      try {
        return { ...message, text: admitText(parts, this.#session, message.text) }
      } catch (error) {
        reportRefusal(this.#scope, error, `The message "${message.id}"`)
        return undefined
      }
    })
    const kept = admitted.filter((message) => message !== undefined)
    return { messages: kept, usage: usageOf(kept, admitted, usage) }
  }
}
