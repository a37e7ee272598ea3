/**
 * pi, and OpenClaw's transcripts: one JSONL file for each session, whose entries form a tree; the last entry of the file is where the
 * conversation is. Entries that are no messages lie on the way too: a message follows the last message before it on that way.
 */
import type { Json, JsonObject } from '../record/record.ts'
import { fieldsIn } from './canonical.ts'
import type { Importer, Item, MessageItem, Source } from './item.ts'
import type { Raw } from './lines.ts'
import { damageOf, firstObjects, headOf, type LineReader, rawEntry, readThrough, without } from './raw.ts'
import { RecentEntries } from './recent-entries.ts'
import { asArray, asCount, asId, asMetadata, asObject, asString, asTime, asTitle, ContentIds, callOf, stemOf } from './values.ts'

const NAME = 'pi'
const ENTRIES = new Set(
  'session message model_change thinking_level_change compaction branch_summary custom custom_message label session_info reset'.split(' '),
)

/** So many entries back another may point; further back, the file's order counts. */
const REMEMBERED = 25_000

export const pi: Importer = {
  name: NAME,
  recognises: (source, heads) =>
    firstObjects(headOf(source, heads)).some(
      (line) => (line.type === 'session' && typeof line.id === 'string') || (isRecord(line) && 'parentId' in line),
    ),
  read,
}

function isRecord(line: JsonObject): boolean {
  if (typeof line.type !== 'string' || !ENTRIES.has(line.type)) return false
  return line.type !== 'message' || asObject(line.message) !== undefined
}

function read(source: Source): AsyncIterable<Item[]> {
  return readThrough(source, isRecord, new Reader(source))
}

class Reader implements LineReader {
  readonly items: Item[] = []
  readonly #source: Source
  readonly #ids = new ContentIds()
  readonly #damage: Item[] = []
  /** For each entry, the message that it is or follows, and the one before that; null if none stands before it. */
  readonly #known = new RecentEntries<{ readonly message: string | null; readonly previous: string | null }>(REMEMBERED)
  /** The messages in the order of the file, as the first version names them: it has no ids. */
  readonly #order: string[] = []
  #isFirst = true
  #session: string | undefined
  #last: string | null = null

  constructor(source: Source) {
    this.#source = source
  }

  damage(damage: Item & { kind: 'damage' }): void {
    if (this.#session === undefined) this.#damage.push(damage)
    else this.items.push(damageOf(damage, this.#session))
  }

  line(line: JsonObject, recovered: boolean, raw?: Raw): void {
    if (this.#session === undefined) this.#begin(line.type === 'session' ? line : {})
    const session = this.#session as string
    const at = asTime(line.timestamp)
    const before = this.#before(line)
    const content = contentOf(line)
    if (content !== undefined) {
      const id = asId(line.id) ?? this.#ids.next(line)
      const after = before === this.#last ? undefined : before
      this.#last = id
      this.#isFirst = false
      if (typeof line.id !== 'string') this.#order.push(id)
      this.#noteMessage(id, id, before)
      const written = content !== line.message || raw === undefined ? undefined : fieldsIn(line, raw)?.value('message')
      const { text, pieces } = written ?? {}
      const usage = usageIn(asObject(line.message) ?? {})
      this.items.push({ kind: 'message', session, id, message: content, at, after, recovered, usage, text, digest: undefined, pieces })
      return
    }
    if (typeof line.id === 'string') this.#noteMessage(line.id, before, null)
    if (line.type === 'compaction') this.#compaction(session, line, before, at)
    const name = line.type === 'session_info' ? asTitle(line.name) : undefined
    if (name !== undefined) this.items.push({ kind: 'describe', session, description: { title: name }, at })
    this.items.push(rawEntry(NAME, session, String(line.type), line))
  }

  end(): void {
    if (this.#session === undefined && this.#damage.length > 0) this.#begin({})
  }

  #begin(header: JsonObject): void {
    this.#session = asId(header.id) ?? asId(stemOf(this.#source.name)) ?? 'session'
    const workspace = asString(header.cwd)?.slice(0, 1000)
    // A path, of which the file's name has the id, or an id.
    const parent = asId(stemOf(asString(header.parentSession) ?? '').replace(/^.*_(?=[0-9a-f-]{36}$)/, ''))
    this.items.push({
      kind: 'session',
      session: this.#session,
      at: asTime(header.timestamp),
      ...(parent === undefined ? {} : { parent: { session: parent, kind: 'fork' } }),
      description: { ...(workspace === undefined ? {} : { workspace }), metadata: asMetadata({ source: NAME }) },
    })
    for (const item of this.#damage.splice(0)) this.items.push(damageOf(item as Item & { kind: 'damage' }, this.#session))
  }

  /** The message before an entry; by the file's order if the entry that it follows is not there. */
  #before(line: JsonObject): string | null {
    if (line.parentId === null) return this.#isFirst || line.type !== 'message' ? this.#last : null
    const known = typeof line.parentId === 'string' ? this.#known.get(line.parentId) : undefined
    return known === undefined ? this.#last : known.message
  }

  #noteMessage(entry: string, message: string | null, previous: string | null): void {
    this.#known.set(entry, { message, previous })
  }

  /** What stood before the first entry that was kept is summed up. */
  #compaction(session: string, line: JsonObject, before: string | null, at: string | undefined): void {
    const overview = asString(line.summary)
    const index = typeof line.firstKeptEntryIndex === 'number' ? line.firstKeptEntryIndex : undefined
    const kept = index === undefined ? this.#known.get(asString(line.firstKeptEntryId) ?? '')?.message : this.#order[index]
    const upTo = typeof kept === 'string' ? this.#known.get(kept)?.previous : before
    if (overview === undefined || typeof upTo !== 'string') return
    const outcome = { status: 'completed', overview, abstract: overview.split('\n')[0] ?? '' } as const
    this.items.push({ kind: 'archive', session, key: `compaction-${asId(line.id) ?? upTo}`, upTo, at, outcome })
  }
}

/** A message in the shape that is known elsewhere; undefined if the entry is none. */
function contentOf(line: JsonObject): JsonObject | undefined {
  if (line.type === 'custom_message')
    return { role: 'user', content: line.content ?? '', origin: without(line, 'content', 'id', 'parentId') }
  if (line.type !== 'message') return undefined
  const message = asObject(line.message) as JsonObject
  if (message.role === 'toolResult') {
    const origin = without(message, 'role', 'toolCallId', 'toolName', 'content')
    return { role: 'tool', tool_call_id: message.toolCallId ?? '', name: message.toolName ?? null, content: message.content ?? '', origin }
  }
  if (message.role === 'bashExecution') {
    return { role: 'user', content: `$ ${asString(message.command) ?? ''}\n${asString(message.output) ?? ''}`, origin: message }
  }
  if (message.role === 'custom') return { role: 'user', content: message.content ?? '', origin: without(message, 'content') }
  if (!Array.isArray(message.content))
    return message.content === undefined || message.content === null ? { ...message, content: '' } : message
  const parts = asArray(message.content)
  return parts.every((part) => isShared(part)) ? message : { ...message, content: parts.map(partOf) }
}

/** Whether a part is written alike elsewhere. */
function isShared(part: Json): boolean {
  const object = asObject(part)
  return object !== undefined && object.type !== 'toolCall'
}

function partOf(value: unknown): JsonObject {
  const part = asObject(value as JsonObject) ?? { type: 'text', text: String(value) }
  if (part.type !== 'toolCall') return part
  return { ...without(part, 'arguments'), type: 'tool_use', input: part.arguments ?? {} }
}

function usageIn(message: JsonObject): MessageItem['usage'] {
  const [usage, model] = [asObject(message.usage), asString(message.model)]
  if (usage === undefined) return undefined
  const inputTokens = asCount(usage.input) + asCount(usage.cacheRead) + asCount(usage.cacheWrite)
  return callOf(model, inputTokens, asCount(usage.output))
}
