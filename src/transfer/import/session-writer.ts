/**
 * Writes the items of a source into a session, in their order. Messages and entries are written in batches. Everything else may name what
 * came before it, so it waits until that is written.
 */
import type { ReadyMessages } from '../../formats/ready.ts'
import { Batches } from './batches.ts'
import { EntryBuffer } from './entry-buffer.ts'
import { type ImportScope, isExport } from './import-scope.ts'
import { ItemWriter, type WrittenItem } from './item-writer.ts'
import { MessageWriter } from './message-writer.ts'
import type { Target } from './target.ts'
import { UsageLimit } from './usage-limit.ts'

/** What a source says about a session: messages, and everything else that can be written. */
export type SessionContent = ReadyMessages | WrittenItem

/** Where the content of a session goes, in its order. */
export interface ItemSink {
  write(item: SessionContent): Promise<void>
  /** Returns when everything is written. */
  flush(): Promise<void>
}

export class SessionWriter implements ItemSink {
  readonly #takesMessagesOnly: boolean
  readonly #isExport: boolean
  readonly #batches: Batches
  readonly #messages: MessageWriter
  readonly #entries: EntryBuffer
  readonly #items: ItemWriter

  constructor(scope: ImportScope, target: Target) {
    const { handle, isFork } = target
    const usage = new UsageLimit(scope, target)
    this.#takesMessagesOnly = target.accepts === 'messages'
    this.#isExport = isExport(scope)
    this.#batches = new Batches(scope, handle, isFork)
    this.#messages = new MessageWriter(scope, handle.id, usage, this.#batches)
    this.#entries = new EntryBuffer(scope, handle)
    this.#items = new ItemWriter(scope, handle, this.#batches, usage)
  }

  async write(item: SessionContent): Promise<void> {
    if (item.kind === 'messages') await this.#messages.write(item)
    else if (this.#takesMessagesOnly) return
    else if (item.kind === 'entry' && !this.#isExport) await this.#entries.add(item)
    else {
      await this.flush()
      await this.#items.write(item, this.#messages.last)
    }
  }

  async flush(): Promise<void> {
    await this.#batches.flush()
    await this.#entries.flush()
  }
}
