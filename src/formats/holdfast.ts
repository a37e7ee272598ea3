/**
 * Holdfast's own export: one item a line, in the order in which things happened, behind a line that names the session. Reading it gives back
 * the items as they were written; a last line tells how many there must be.
 *
 *     {"holdfast":1,"kind":"session","session":"a","at":"…","description":{…}}
 *     {"kind":"message","id":"m1","at":"…","message":{…}}
 *     {"kind":"archive","key":"1","upTo":"m1",…}
 *     {"kind":"end","items":2}
 *
 * It may come from anywhere, so everything is checked: what is not an item is damage, and costs itself.
 */
import type { Json, JsonObject } from '../record/record.ts'
import type { Description, ExtractedMemory } from '../session/records.ts'
import { fieldsIn } from './canonical.ts'
import type { ArchiveOutcome, Importer, Item, ParentItem, SessionItem, Source } from './item.ts'
import { type Read, type ReadRecord, readRecords } from './lines.ts'
import { damageOf, fileOf, firstObjects, headOf } from './raw.ts'
import { asCount, asId, asObject, asObjects, asTime, ContentIds } from './values.ts'

const NAME = 'holdfast'
const EXPORT_VERSION = 1
const KINDS = new Set([
  'session',
  'message',
  'replacement',
  'describe',
  'entry',
  'snapshot',
  'head',
  'fork',
  'archive',
  'usage',
  'share',
  'end',
])

export const holdfast: Importer = {
  name: NAME,
  recognises: (source, heads) => firstObjects(headOf(source, heads)).some((line) => typeof line.holdfast === 'number' || isLine(line)),
  read,
}

function isLine({ kind }: JsonObject): boolean {
  return typeof kind === 'string' && KINDS.has(kind)
}

async function* read(source: Source): AsyncGenerator<Item[]> {
  const file = fileOf(source)
  let session: string | undefined
  let count = 0
  let ids = new ContentIds()
  let ended = true
  const cut = function* (): Generator<Item> {
    const place = { file: file.path, line: null, offset: file.size, length: 0 }
    if (!ended)
      yield { kind: 'damage', session: session ?? null, place, reason: 'Lines of this session are missing.', bytes: new Uint8Array() }
  }
  const items = function* (reads: readonly Read[]): Generator<Item> {
    for (const read of reads) {
      if ('kind' in read) {
        yield damageOf(read, session ?? null)
        continue
      }
      const { record, line, offset } = read
      if (record.kind === 'end') {
        ended = record.items === count
        yield* cut()
        ended = true
        continue
      }
      const item = record.kind === 'session' ? sessionItem(record) : session === undefined ? undefined : itemOf(read, session, ids)
      if (item === undefined) {
        const bytes = Buffer.from(JSON.stringify(record))
        const reason = session === undefined ? 'Nothing says whose this is.' : 'This is no item of an export, or one of a newer version.'
        const place = { file: file.path, line, offset, length: bytes.length }
        yield { kind: 'damage', session: session ?? null, place, reason, bytes }
        continue
      }
      if (item.kind === 'session') {
        yield* cut()
        session = item.session
        count = 0
        ids = new ContentIds()
        ended = false
      }
      count++
      yield item
    }
  }
  for await (const reads of readRecords(file, isLine)) yield [...items(reads)]
  yield [...cut()]
}

/** One line of an export, without its newline. */
export function lineOf(item: Item): string {
  if (item.kind === 'session') return JSON.stringify({ holdfast: EXPORT_VERSION, ...item })
  const { session: _, ...rest } = item
  // A call to a model has no name of its own; it is told by where it stands.
  return JSON.stringify(rest.kind === 'usage' ? { ...rest, key: undefined } : rest)
}

export function endLine(items: number): string {
  return JSON.stringify({ kind: 'end', items })
}

function sessionItem(line: JsonObject): SessionItem | undefined {
  const session = asId(line.session)
  if (session === undefined || (typeof line.holdfast === 'number' && line.holdfast > EXPORT_VERSION)) return undefined
  const parent = parentOf(asObject(line.parent))
  return {
    kind: 'session',
    session,
    ...timeOf(line),
    description: (asObject(line.description) ?? {}) as Description,
    ...(parent === undefined ? {} : { parent }),
  }
}

function parentOf(parent: JsonObject | undefined): ParentItem | undefined {
  const session = asId(parent?.session)
  if (parent === undefined || session === undefined || (parent.kind !== 'fork' && parent.kind !== 'child')) return undefined
  return { session, kind: parent.kind, message: asId(parent.message) ?? null }
}

function itemOf({ record: line, recovered, raw }: ReadRecord, session: string, ids: ContentIds): Item | undefined {
  const [id, message] = [asId(line.id), asObject(line.message)]
  const common = { session, ...timeOf(line) }
  switch (line.kind) {
    case 'message': {
      const after = line.after === null ? null : asId(line.after)
      if (id === undefined || message === undefined) return undefined
      const { text, pieces } = (raw === undefined ? undefined : fieldsIn(line, raw)?.value('message')) ?? {}
      return { kind: 'message', session, id, message, at: common.at, after, recovered, text, digest: undefined, pieces }
    }
    case 'replacement':
      return id === undefined || message === undefined ? undefined : { kind: 'replacement', ...common, id, message }
    case 'describe': {
      const description = asObject(line.description)
      return description === undefined ? undefined : { kind: 'describe', ...common, description: description as Description }
    }
    case 'entry': {
      const [channel, key] = [asId(line.channel), asId(line.key)]
      if (channel === undefined || key === undefined) return undefined
      return { kind: 'entry', ...common, channel, key, ...(line.value === undefined ? {} : { value: line.value }) }
    }
    case 'snapshot': {
      const name = asId(line.name)
      return name === undefined ? undefined : { kind: 'snapshot', ...common, name, message: asId(line.message) ?? null }
    }
    case 'head': {
      const target = asId(line.target)
      const why = line.why === 'undo' ? 'undo' : 'revert'
      return { kind: 'head', ...common, to: asId(line.to) ?? null, why, ...(target === undefined ? {} : { target }) }
    }
    case 'fork': {
      const child = asId(line.child)
      const as = line.as === 'child' ? 'child' : 'fork'
      if (child === undefined) return undefined
      return {
        kind: 'fork',
        ...common,
        child,
        message: asId(line.message) ?? null,
        as,
        description: (asObject(line.description) ?? {}) as Description,
      }
    }
    case 'archive':
      return archiveItem(line, common)
    case 'usage': {
      const model = asId(line.model)
      if (model === undefined) return undefined
      const usage = { model, inputTokens: asCount(line.inputTokens), outputTokens: asCount(line.outputTokens) }
      return { kind: 'usage', ...common, key: ids.next(line), ...usage }
    }
    case 'share': {
      const [share, digest] = [asId(line.share), asId(line.digest)]
      if (share === undefined || digest === undefined) return undefined
      const redact = line.redact === true ? { redact: true } : {}
      return { kind: 'share', ...common, share, digest, expiresAt: asTime(line.expiresAt) ?? null, ...redact }
    }
    default:
      return undefined
  }
}

function archiveItem(line: JsonObject, common: { session: string; at?: string }): Item | undefined {
  const [key, upTo, task] = [asId(line.key), asId(line.upTo), asId(line.task)]
  const outcome = outcomeOf(asObject(line.outcome))
  if (key === undefined || upTo === undefined || outcome === undefined) return undefined
  const named = task !== undefined && /^[0-9a-f-]{36}$/.test(task) ? { task } : {}
  return { kind: 'archive', ...common, key, upTo, outcome, ...named }
}

function outcomeOf(outcome: JsonObject | undefined): ArchiveOutcome | undefined {
  const ended = outcome?.endedAt === undefined ? {} : { endedAt: asTime(outcome.endedAt) }
  const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
  switch (outcome?.status) {
    case 'pending':
      return { status: 'pending' }
    case 'cancelled':
      return { status: 'cancelled', ...ended }
    case 'failed': {
      const error = asObject(outcome.error)
      return {
        status: 'failed',
        error: { code: text(error?.code), message: text(error?.message) },
        attempts: asCount(outcome.attempts),
        ...ended,
      }
    }
    case 'completed': {
      const usage = asObject(outcome.usage)
      return {
        status: 'completed',
        abstract: text(outcome.abstract),
        overview: text(outcome.overview),
        memories: asObjects(outcome.memories).flatMap((memory) => memoryOf(memory) ?? []),
        owner: asId(outcome.owner) ?? null,
        model: text(outcome.model),
        attempts: asCount(outcome.attempts),
        ...(usage === undefined ? {} : { usage: { inputTokens: asCount(usage.inputTokens), outputTokens: asCount(usage.outputTokens) } }),
        ...ended,
        ...(outcome.retracted === true ? { retracted: true } : {}),
      }
    }
    default:
      return undefined
  }
}

function memoryOf(memory: JsonObject): ExtractedMemory | undefined {
  const [id, key, category] = [asId(memory.id), asId(memory.key), asId(memory.category)]
  if (id === undefined || key === undefined || category === undefined) return undefined
  const sources = Array.isArray(memory.sources) ? (memory.sources as Json[]).filter((one) => typeof one === 'string') : []
  return { id, key, category, ...(typeof memory.text === 'string' ? { text: memory.text } : {}), sources }
}

function timeOf(line: JsonObject): { at?: string } {
  const at = asTime(line.at)
  return at === undefined ? {} : { at }
}
