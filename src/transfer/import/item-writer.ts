/**
 * Everything of a source that is no message, put into a session. Each item has a key that is made from its content. So it happens once,
 * however often the source is read, and what was changed here since stays.
 */
import type {
  ArchiveItem,
  DescribeItem,
  EntryItem,
  ForkItem,
  HeadItem,
  ReplacementItem,
  ShareItem,
  SnapshotItem,
  UsageItem,
} from '../../formats/item.ts'
import { ContentIds, digest } from '../../formats/values.ts'
import type { JsonObject } from '../../record/record.ts'
import { checkDescription, objectText } from '../../session/check.ts'
import * as decide from '../../session/decide.ts'
import { type Point, START } from '../../session/state.ts'
import { recordUsage } from '../../session/usage.ts'
import { Handle, type Make } from '../../store/handle.ts'
import { admit, admitText } from '../../store/messages/admission.ts'
import { Session } from '../../store/session.ts'
import type { Batches } from './batches.ts'
import { creationKey, type ImportScope, isExport, reportRefusal } from './import-scope.ts'
import type { UsageLimit } from './usage-limit.ts'
import { writeArchive } from './write-archive.ts'

export type WrittenItem =
  | ArchiveItem
  | DescribeItem
  | EntryItem
  | ForkItem
  | HeadItem
  | ReplacementItem
  | ShareItem
  | SnapshotItem
  | UsageItem

export class ItemWriter {
  readonly #scope: ImportScope
  readonly #handle: Handle
  readonly #batches: Batches
  readonly #usage: UsageLimit
  readonly #ids = new ContentIds()

  constructor(scope: ImportScope, handle: Handle, batches: Batches, usage: UsageLimit) {
    this.#scope = scope
    this.#handle = handle
    this.#batches = batches
    this.#usage = usage
  }

  /** Writes an item. One that this store cannot take is reported, and the import continues. `last`: the last message before it. */
  async write(item: WrittenItem, last: string | undefined): Promise<void> {
    try {
      await this.#write(item, last)
    } catch (error) {
      reportRefusal(this.#scope, error, `A ${item.kind}`)
    }
  }

  async #write(item: WrittenItem, last: string | undefined): Promise<void> {
    switch (item.kind) {
      case 'describe':
        return this.#describe(item)
      case 'entry':
        return this.#putEntry(item)
      case 'snapshot':
        return this.#takeSnapshot(item)
      case 'head':
        return this.#moveHead(item)
      case 'usage':
        return this.#recordUsage(item)
      case 'share':
        return this.#share(item)
      case 'replacement':
        return this.#replace(item)
      case 'fork':
        return this.#fork(item)
      case 'archive':
        return writeArchive(this.#handle, await this.#pointOf(item.upTo ?? last ?? null), this.#timed(item))
    }
  }

  async #describe(item: DescribeItem): Promise<void> {
    const description = checkDescription(admit(this.#scope.parts, this.#handle.id, 'description', item.description))
    await this.#submitOnce(item, (terms) => decide.describe(terms, description))
  }

  async #putEntry(item: EntryItem): Promise<void> {
    const { channel, key } = item
    const { value } = admit(this.#scope.parts, this.#handle.id, 'entry', item)
    await this.#submitOnce(item, (terms) => decide.putEntries(terms, [value === undefined ? { channel, key } : { channel, key, value }]))
  }

  async #takeSnapshot(item: SnapshotItem): Promise<void> {
    const point = await this.#pointOf(item.message)
    await this.#submitOnce(item, (terms) => decide.snapshot(terms, item.name, point))
  }

  async #moveHead(item: HeadItem): Promise<void> {
    const { why, target } = item
    const point = await this.#pointOf(item.to)
    await this.#submitOnce(item, (terms) => decide.moveTo(terms, point, target === undefined ? { why } : { why, target }))
  }

  async #recordUsage({ kind, key, at, model, inputTokens, outputTokens }: UsageItem): Promise<void> {
    await this.#handle.submit({ ...operationKey(kind, digest(key)), at }, (full) => recordUsage(full, { model, inputTokens, outputTokens }))
  }

  async #share(item: ShareItem): Promise<void> {
    const { share, digest: token, expiresAt, redact } = item
    const granted = { share, token, expiresAt, ...(redact === true ? { redact } : {}) }
    await this.#submitOnce(item, (terms) => decide.share(terms, granted))
  }

  /** An export repeats each replacement under its key; from other sources it counts unless the message had that content before. */
  async #replace(item: ReplacementItem): Promise<void> {
    const text = admitText(this.#scope.parts, this.#handle.id, objectText('The message', item.message))
    const replacement = { id: item.id, text, at: item.at ?? null }
    await this.#batches.replace(replacement, isExport(this.#scope) ? this.#keyOf(item) : undefined)
    const calls = this.#usage.counted(item.usage === undefined ? [] : [item.usage])
    for (const call of calls) await this.#batches.recordUsage(replacement, call)
  }

  async #fork(item: ForkItem): Promise<void> {
    const { child, message, as, description, at } = this.#timed(item)
    const { parts } = this.#scope
    const options = {
      id: child,
      key: creationKey(this.#scope, child),
      ...(at === undefined ? {} : { when: at }),
      ...checkDescription(description),
    }
    if ((await new Handle(parts, child).state()).status !== 'absent') return
    const session = new Session(parts, this.#handle.id)
    await (as === 'child' || message === null ? session.child(options) : session.fork({ ...options, at: message }))
  }

  async #pointOf(id: string | null): Promise<Point> {
    return id === null ? START : (await this.#handle.locate(id)).point
  }

  async #submitOnce(item: WrittenItem, make: Make): Promise<void> {
    await this.#handle.submit({ ...this.#keyOf(item), at: this.#timed(item).at }, make)
  }

  #timed<T extends WrittenItem>(item: T): T {
    return { ...item, at: this.#scope.times.at(item.at) }
  }

  /** A key that is made from the item. Equal items of one source have different keys. */
  #keyOf(item: WrittenItem): OperationKey {
    return operationKey(item.kind, this.#ids.next(item as unknown as JsonObject))
  }
}

interface OperationKey {
  readonly key: string
  readonly digest: string
}

function operationKey(kind: WrittenItem['kind'], id: string): OperationKey {
  return { key: `import:${kind}:${id}`, digest: digest(`${kind} ${id}`) }
}
