/** Counts the messages of a source as an import would write them, and writes nothing. */
import type { Handle } from '../../store/handle.ts'
import type { Batch } from './batches.ts'
import type { ImportScope } from './import-scope.ts'
import { knownMessages } from './known-messages.ts'
import { MessageWriter } from './message-writer.ts'
import type { ItemSink, SessionContent } from './session-writer.ts'
import type { Target } from './target.ts'
import { UsageLimit } from './usage-limit.ts'

export class DryRun implements ItemSink {
  readonly #scope: ImportScope
  readonly #handle: Handle
  readonly #messages: MessageWriter
  readonly #counted: Set<string>

  /** `counted` gets the ids of all messages. */
  constructor(scope: ImportScope, target: Target, counted: Set<string>) {
    this.#scope = scope
    this.#handle = target.handle
    this.#counted = counted
    this.#messages = new MessageWriter(scope, target.handle.id, new UsageLimit(scope, target), { add: (batch) => this.#count(batch) })
  }

  async write(item: SessionContent): Promise<void> {
    if (item.kind === 'messages') await this.#messages.write(item)
  }

  async flush(): Promise<void> {}

  /** Skips what the session has, what the source had before, and what a parent in this run has. */
  async #count({ messages, release }: Batch): Promise<void> {
    const { begin, called, report } = this.#scope
    const known = await knownMessages(
      this.#handle,
      messages.map(({ id }) => id),
    )
    const parent = begin.parent === undefined ? undefined : called.get(begin.parent.session)
    for (const [index, { id }] of messages.entries()) {
      if (known[index] !== undefined || this.#counted.has(id) || parent?.messages.has(id) === true) report.skipped++
      else report.messages++
      this.#counted.add(id)
    }
    release?.()
  }
}
