/**
 * Claude Code: one JSONL file for each session. Lines name the line before them, but results of parallel calls hang on the calls, so that tree
 * is not the conversation; the file's order is. Only a prompt that hangs on something before the last prompt is a way back: there
 * the conversation was taken up again from an earlier point. Sub-agents' lines become sessions of their own, children of this one.
 */
import type { JsonObject } from '../../record/record.ts'
import { fieldsIn } from '../canonical.ts'
import type { Importer, Item, MessageItem, Source } from '../item.ts'
import type { Raw } from '../lines.ts'
import { asArray, asCount, asId, asMetadata, asObject, asString, asTime, asTitle, ContentIds, contentText, stemOf } from '../values.ts'
import { damageOf, firstObjects, headOf, type LineReader, rawEntry, readThrough, without } from './raw.ts'

const NAME = 'claude-code'
const LINES = new Set(
  'user assistant summary custom-title ai-title agent-name system file-history-snapshot attachment queue-operation progress mode last-prompt pr-link'.split(
    ' ',
  ),
)
/** So many lines back a prompt may point; further back, the file's order counts. */
const REMEMBERED = 100_000

export const claudeCode: Importer = {
  name: NAME,
  recognises: (source, heads) =>
    firstObjects(headOf(source, heads)).some(
      (line) =>
        typeof line.type === 'string' &&
        LINES.has(line.type) &&
        (typeof line.sessionId === 'string' || typeof line.leafUuid === 'string' || typeof line.uuid === 'string'),
    ),
  read,
}

function isRecord(line: JsonObject): boolean {
  if (typeof line.type !== 'string') return false
  // The message inside a line has a type and a role of its own.
  return line.type === 'user' || line.type === 'assistant'
    ? asObject(line.message) !== undefined
    : line.type !== 'message' && !('role' in line)
}

function read(source: Source): AsyncIterable<Item[]> {
  return readThrough(source, isRecord, new Reader(source))
}

interface Titles {
  custom?: string
  ai?: string
  prompt?: string | undefined
}

class Reader implements LineReader {
  readonly #source: Source
  readonly #ids = new ContentIds()
  readonly #titles: Titles = {}
  readonly #damage: Item[] = []
  /** Lines in front of the first that tells where the session was at work. */
  readonly #early: JsonObject[] = []
  /** For each line, the message that it is or follows, and how many prompts came before it was written. */
  readonly #known = new Map<string, { readonly message: string | undefined; readonly prompts: number }>()
  /** Which child a sub-agent's line belongs to. */
  readonly #sidechains = new Map<string, string>()
  readonly #children = new Set<string>()
  readonly #used = new Set<string>()
  #session: string | undefined
  #agent = false
  #last: string | undefined
  #prompts = 0

  constructor(source: Source) {
    this.#source = source
  }

  *damage(damage: Item & { kind: 'damage' }): Generator<Item> {
    if (this.#session === undefined) this.#damage.push(damage)
    else yield damageOf(damage, this.#session)
  }

  *line(line: JsonObject, recovered: boolean, raw?: Raw): Generator<Item> {
    if (this.#session === undefined && typeof line.cwd !== 'string' && this.#early.length < 100) {
      this.#early.push(line)
      return
    }
    if (this.#session === undefined) yield* this.#begin(line)
    yield* this.#read(line, recovered, raw)
  }

  *#read(line: JsonObject, recovered: boolean, raw?: Raw): Generator<Item> {
    const session = this.#session as string
    if (line.type === 'user' || line.type === 'assistant') {
      yield* this.#conversation(line, recovered, raw)
      return
    }
    if (line.type === 'custom-title') this.#titles.custom = asTitle(line.customTitle) ?? this.#titles.custom ?? ''
    if (line.type === 'ai-title') this.#titles.ai = asTitle(line.aiTitle) ?? this.#titles.ai ?? ''
    if (line.type === 'summary') this.#titles.ai ||= asTitle(line.summary) ?? ''
    this.#remember(asString(line.uuid), this.#messageBefore(line))
    yield rawEntry(NAME, session, String(line.type).slice(0, 40), line)
  }

  *end(): Generator<Item> {
    if (this.#session === undefined && this.#damage.length + this.#early.length > 0) yield* this.#begin(this.#early[0] ?? {})
    const title = this.#titles.custom || this.#titles.ai || this.#titles.prompt
    if (this.#session !== undefined && title !== undefined && title !== '')
      yield { kind: 'describe', session: this.#session, description: { title } }
  }

  *#begin(line: JsonObject): Generator<Item> {
    const stem = stemOf(this.#source.name)
    const whole = asId(line.sessionId) ?? asId(stem) ?? 'session'
    // Newer versions write each sub-agent to a file of its own, under the id of the session that it works for.
    const agent = asId(line.agentId)
    this.#agent = line.isSidechain === true && agent !== undefined && stem.startsWith('agent-')
    this.#session = this.#agent ? `${whole}/agent-${agent}` : whole
    yield* this.#beginSession(this.#session, line, this.#agent ? whole : undefined)
    for (const item of this.#damage.splice(0)) yield damageOf(item as Item & { kind: 'damage' }, this.#session)
    for (const early of this.#early.splice(0)) yield* this.#read(early, false)
  }

  *#beginSession(session: string, line: JsonObject, parent: string | undefined): Generator<Item> {
    const workspace = asString(line.cwd)?.slice(0, 1000)
    yield {
      kind: 'session',
      session,
      at: asTime(line.timestamp),
      ...(parent === undefined ? {} : { parent: { session: parent, kind: 'child' } }),
      description: {
        ...(workspace === undefined ? {} : { workspace }),
        metadata: asMetadata({ source: NAME, git_branch: line.gitBranch, version: line.version }),
      },
    }
  }

  *#conversation(line: JsonObject, recovered: boolean, raw: Raw | undefined): Generator<Item> {
    const inner = asObject(line.message) as JsonObject
    const id = this.#idOf(line)
    const at = asTime(line.timestamp)
    if (line.isSidechain === true && !this.#agent) {
      yield* this.#sidechain(line, id, recovered, raw)
      return
    }
    const session = this.#session as string
    if (line.isCompactSummary === true && this.#last !== undefined) {
      yield* this.#compaction(line, id)
      return
    }
    const isPrompt = line.type === 'user' && line.isMeta !== true && !isOnlyResults(inner)
    const after = isPrompt ? this.#wayBack(line) : undefined
    if (isPrompt) this.#prompts++
    this.#titles.prompt ??= isPrompt ? asTitle(contentText(inner.content).split('\n')[0]?.slice(0, 200)) : undefined
    this.#last = id
    this.#remember(asString(line.uuid), id)
    const item: MessageItem = { kind: 'message', session, id, ...messageOf(line, inner, raw), at, recovered }
    yield after === undefined ? item : { ...item, after }
    const usage = usageItem(session, id, inner, at)
    if (usage !== undefined) yield usage
  }

  *#compaction(line: JsonObject, id: string): Generator<Item> {
    const session = this.#session as string
    const overview = contentText(asObject(line.message)?.content)
    this.#remember(asString(line.uuid), this.#last)
    const outcome = { status: 'completed', overview, abstract: overview.split('\n')[0] ?? '' } as const
    yield { kind: 'archive', session, key: `compaction-${id}`, upTo: this.#last, at: asTime(line.timestamp), outcome }
    yield rawEntry(NAME, session, 'compact-summary', line)
  }

  *#sidechain(line: JsonObject, id: string, recovered: boolean, raw: Raw | undefined): Generator<Item> {
    const [uuid, parent] = [asString(line.uuid), asString(line.parentUuid)]
    const root = asId(line.agentId) ?? this.#sidechains.get(parent ?? '') ?? id
    const child = `${this.#session}/agent-${root}`
    if (uuid !== undefined) this.#sidechains.set(uuid, root)
    if (!this.#children.has(child)) {
      this.#children.add(child)
      yield* this.#beginSession(child, line, this.#session)
    }
    const inner = asObject(line.message) as JsonObject
    const at = asTime(line.timestamp)
    yield { kind: 'message', session: child, id, ...messageOf(line, inner, raw), at, recovered }
    const usage = usageItem(child, id, inner, at)
    if (usage !== undefined) yield usage
  }

  /** A line without an id, or with one that another line has, is told by its content. */
  #idOf(line: JsonObject): string {
    const uuid = asId(line.uuid)
    if (uuid === undefined || this.#used.has(uuid)) return this.#ids.next(line)
    if (this.#used.size < REMEMBERED) this.#used.add(uuid)
    return uuid
  }

  /** The message to which a prompt goes back; undefined if it goes on where the conversation is. */
  #wayBack(line: JsonObject): string | undefined {
    const before = this.#known.get(asString(line.parentUuid) ?? '')
    return before?.message !== undefined && before.prompts < this.#prompts ? before.message : undefined
  }

  #messageBefore(line: JsonObject): string | undefined {
    const parent = asString(line.parentUuid)
    return parent === undefined ? this.#last : (this.#known.get(parent)?.message ?? this.#last)
  }

  #remember(uuid: string | undefined, message: string | undefined): void {
    if (uuid === undefined) return
    this.#known.set(uuid, { message, prompts: this.#prompts })
    if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.keys().next().value as string)
  }
}

function isOnlyResults({ content }: JsonObject): boolean {
  const parts = asArray(content)
  return parts.length > 0 && parts.every((part) => asObject(part)?.type === 'tool_result')
}

const BESIDE = ['message', 'uuid', 'sessionId', 'timestamp', 'type']

/** The message as the provider has it, and beside it what the line says of it; cut out of the line, where that is as it would be written again. */
function messageOf(line: JsonObject, inner: JsonObject, raw: Raw | undefined): Pick<MessageItem, 'message' | 'text'> {
  const origin = without(line, ...BESIDE)
  if (typeof inner.role !== 'string') return { message: { ...inner, role: line.type as string, origin } }
  const message = { ...inner, origin }
  const fields = raw === undefined || 'origin' in inner ? undefined : fieldsIn(line, raw.text)
  const said = fields?.value('message')
  return said === undefined ? { message } : { message, text: `${said.slice(0, -1)},"origin":${fields?.without(...BESIDE)}}` }
}

/** One reply may span several lines, each with all of its usage. */
function usageItem(session: string, id: string, inner: JsonObject, at: string | undefined): Item | undefined {
  const usage = asObject(inner.usage)
  const model = asString(inner.model)
  if (usage === undefined || model === undefined || model.length > 200 || model.startsWith('<')) return undefined
  const inputTokens = asCount(usage.input_tokens) + asCount(usage.cache_read_input_tokens) + asCount(usage.cache_creation_input_tokens)
  const outputTokens = asCount(usage.output_tokens)
  if (inputTokens + outputTokens === 0) return undefined
  return { kind: 'usage', session, key: asId(inner.id) ?? id, model, inputTokens, outputTokens, at }
}
