/**
 * The lines of an export as items: one function for each kind of line. An export may come from anywhere, so each checks the fields that its
 * item needs, and returns undefined if one of them is missing.
 */
import type { Json, JsonObject } from '../record/record.ts'
import type { Description, ExtractedMemory } from '../session/records.ts'
import { fieldsIn } from './canonical.ts'
import type {
  ArchiveItem,
  ArchiveOutcome,
  DescribeItem,
  EntryItem,
  ForkItem,
  HeadItem,
  Item,
  MessageItem,
  ReplacementItem,
  ShareItem,
  SnapshotItem,
  UsageItem,
} from './item.ts'
import type { Raw } from './lines.ts'
import { asCount, asId, asObject, asObjects, asTime, type ContentIds } from './values.ts'

/** A line of an export after the line of its session. */
export interface ItemLine {
  readonly record: JsonObject
  readonly recovered: boolean
  readonly raw: Raw | undefined
  readonly session: string
  /** Makes keys for what has none. */
  readonly ids: ContentIds
}

const READERS: ReadonlyMap<unknown, (line: ItemLine) => Item | undefined> = new Map<unknown, (line: ItemLine) => Item | undefined>([
  ['message', messageItem],
  ['replacement', replacementItem],
  ['describe', describeItem],
  ['entry', entryItem],
  ['snapshot', snapshotItem],
  ['head', headItem],
  ['fork', forkItem],
  ['archive', archiveItem],
  ['usage', usageItem],
  ['share', shareItem],
])

export function isItemKind(kind: unknown): boolean {
  return READERS.has(kind)
}

/** The item of a line; undefined if the line is none. */
export function itemOf(line: ItemLine): Item | undefined {
  return READERS.get(line.record.kind)?.(line)
}

function messageItem({ record, session, recovered, raw }: ItemLine): MessageItem | undefined {
  const [id, message] = [asId(record.id), asObject(record.message)]
  if (id === undefined || message === undefined) return undefined
  const after = record.after === null ? null : asId(record.after)
  const { text, pieces } = (raw === undefined ? undefined : fieldsIn(record, raw)?.value('message')) ?? {}
  return { kind: 'message', session, id, message, at: asTime(record.at), after, recovered, text, digest: undefined, pieces }
}

function replacementItem({ record, session }: ItemLine): ReplacementItem | undefined {
  const [id, message] = [asId(record.id), asObject(record.message)]
  return id === undefined || message === undefined ? undefined : { kind: 'replacement', session, ...timeOf(record), id, message }
}

function describeItem({ record, session }: ItemLine): DescribeItem | undefined {
  const description = asObject(record.description)
  return description === undefined ? undefined : { kind: 'describe', session, ...timeOf(record), description: description as Description }
}

function entryItem({ record, session }: ItemLine): EntryItem | undefined {
  const [channel, key] = [asId(record.channel), asId(record.key)]
  if (channel === undefined || key === undefined) return undefined
  return { kind: 'entry', session, ...timeOf(record), channel, key, ...(record.value === undefined ? {} : { value: record.value }) }
}

function snapshotItem({ record, session }: ItemLine): SnapshotItem | undefined {
  const name = asId(record.name)
  return name === undefined ? undefined : { kind: 'snapshot', session, ...timeOf(record), name, message: asId(record.message) ?? null }
}

function headItem({ record, session }: ItemLine): HeadItem {
  const target = asId(record.target)
  const why = record.why === 'undo' ? 'undo' : 'revert'
  return { kind: 'head', session, ...timeOf(record), to: asId(record.to) ?? null, why, ...(target === undefined ? {} : { target }) }
}

function forkItem({ record, session }: ItemLine): ForkItem | undefined {
  const child = asId(record.child)
  if (child === undefined) return undefined
  const as = record.as === 'child' ? 'child' : 'fork'
  const description = (asObject(record.description) ?? {}) as Description
  return { kind: 'fork', session, ...timeOf(record), child, message: asId(record.message) ?? null, as, description }
}

function usageItem({ record, session, ids }: ItemLine): UsageItem | undefined {
  const model = asId(record.model)
  if (model === undefined) return undefined
  return { kind: 'usage', session, ...timeOf(record), key: ids.next(record), model, ...tokensOf(record) }
}

function shareItem({ record, session }: ItemLine): ShareItem | undefined {
  const [share, digest] = [asId(record.share), asId(record.digest)]
  if (share === undefined || digest === undefined) return undefined
  const redact = record.redact === true ? { redact: true } : {}
  return { kind: 'share', session, ...timeOf(record), share, digest, expiresAt: asTime(record.expiresAt) ?? null, ...redact }
}

function archiveItem({ record, session }: ItemLine): ArchiveItem | undefined {
  const [key, upTo, task] = [asId(record.key), asId(record.upTo), asId(record.task)]
  const outcome = outcomeOf(asObject(record.outcome))
  if (key === undefined || upTo === undefined || outcome === undefined) return undefined
  const named = task !== undefined && /^[0-9a-f-]{36}$/.test(task) ? { task } : {}
  return { kind: 'archive', session, ...timeOf(record), key, upTo, outcome, ...named }
}

function outcomeOf(outcome: JsonObject | undefined): ArchiveOutcome | undefined {
  switch (outcome?.status) {
    case 'pending':
      return { status: 'pending' }
    case 'cancelled':
      return { status: 'cancelled', ...endOf(outcome) }
    case 'failed':
      return { status: 'failed', error: errorOf(asObject(outcome.error)), attempts: asCount(outcome.attempts), ...endOf(outcome) }
    case 'completed':
      return { status: 'completed', ...summaryOf(outcome), ...endOf(outcome), ...(outcome.retracted === true ? { retracted: true } : {}) }
    default:
      return undefined
  }
}

function errorOf(error: JsonObject | undefined): { code: string; message: string } {
  return { code: textOf(error?.code), message: textOf(error?.message) }
}

function summaryOf(outcome: JsonObject): Omit<Extract<ArchiveOutcome, { status: 'completed' }>, 'status'> {
  const usage = asObject(outcome.usage)
  return {
    abstract: textOf(outcome.abstract),
    overview: textOf(outcome.overview),
    memories: asObjects(outcome.memories).flatMap((memory) => memoryOf(memory) ?? []),
    owner: asId(outcome.owner) ?? null,
    model: textOf(outcome.model),
    attempts: asCount(outcome.attempts),
    ...(usage === undefined ? {} : { usage: tokensOf(usage) }),
  }
}

function memoryOf(memory: JsonObject): ExtractedMemory | undefined {
  const [id, key, category] = [asId(memory.id), asId(memory.key), asId(memory.category)]
  if (id === undefined || key === undefined || category === undefined) return undefined
  const sources = Array.isArray(memory.sources) ? (memory.sources as Json[]).filter((one) => typeof one === 'string') : []
  return { id, key, category, ...(typeof memory.text === 'string' ? { text: memory.text } : {}), sources }
}

/** When something happened, if the line says so. */
export function timeOf(record: JsonObject): { at?: string } {
  const at = asTime(record.at)
  return at === undefined ? {} : { at }
}

function endOf({ endedAt }: JsonObject): { endedAt?: string | undefined } {
  return endedAt === undefined ? {} : { endedAt: asTime(endedAt) }
}

function tokensOf({ inputTokens, outputTokens }: JsonObject): { inputTokens: number; outputTokens: number } {
  return { inputTokens: asCount(inputTokens), outputTokens: asCount(outputTokens) }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
