/**
 * Claude Code: one JSONL file for each session. Lines name the line before them, but results of parallel calls hang on the calls, so that tree
 * is not the conversation; the file's order is. Only a prompt that hangs on something before the last prompt is a way back: there
 * the conversation was taken up again from an earlier point. Sub-agents' lines become sessions of their own, children of this one.
 */
import type { JsonObject } from '../record/record.ts'
import { fieldsIn } from './canonical.ts'
import type { Importer, Item, MessageItem, Source } from './item.ts'
import type { Raw } from './lines.ts'
import { damageOf, firstObjects, headOf, type LineReader, rawEntry, readThrough, without } from './raw.ts'
import { RecentEntries } from './recent-entries.ts'
import {
  asArray,
  asCount,
  asId,
  asMetadata,
  asObject,
  asString,
  asTime,
  asTitle,
  ContentIds,
  callOf,
  contentText,
  stemOf,
} from './values.ts'

const NAME = 'claude-code'
const LINES = new Set(
  'user assistant summary custom-title ai-title agent-name system file-history-snapshot attachment queue-operation progress mode last-prompt pr-link'.split(
    ' ',
  ),
)
/** So many lines back a prompt may point; further back, the file's order counts. */
const REMEMBERED = 25_000
const REMEMBERED_REPLIES = 250

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

/** A line that is not the message of its own name. */
interface LineBeside {
  /** The message that it follows, or that it is under another name. */
  readonly message: string | undefined
  /** How many prompts came before it was written. */
  readonly prompts: number
}

class Reader implements LineReader {
  readonly items: Item[] = []
  readonly #source: Source
  readonly #ids = new ContentIds()
  readonly #titles: Titles = {}
  readonly #damage: Item[] = []
  /** Lines in front of the first that tells where the session was at work. */
  readonly #early: JsonObject[] = []
  /** How many prompts came before each message. */
  readonly #messages = new RecentEntries<number>(REMEMBERED)
  readonly #beside = new RecentEntries<LineBeside>(REMEMBERED)
  /** Replies whose usage was told: the lines of one are not far apart. */
  readonly #replies = new RecentEntries<true>(REMEMBERED_REPLIES)
  /** Which child a sub-agent's line belongs to. */
  readonly #sidechains = new Map<string, string>()
  readonly #children = new Set<string>()
  #session: string | undefined
  #agent = false
  #last: string | undefined
  #prompts = 0

  constructor(source: Source) {
    this.#source = source
  }

  damage(damage: Item & { kind: 'damage' }): void {
    if (this.#session === undefined) this.#damage.push(damage)
    else this.items.push(damageOf(damage, this.#session))
  }

  line(line: JsonObject, recovered: boolean, raw?: Raw): void {
    if (this.#session === undefined && typeof line.cwd !== 'string' && this.#early.length < 100) {
      this.#early.push(line)
      return
    }
    if (this.#session === undefined) this.#begin(line)
    this.#read(line, recovered, raw)
  }

  #read(line: JsonObject, recovered: boolean, raw?: Raw): void {
    const session = this.#session as string
    if (line.type === 'user' || line.type === 'assistant') {
      this.#conversation(line, recovered, raw)
      return
    }
    if (line.type === 'custom-title') this.#titles.custom = asTitle(line.customTitle) ?? this.#titles.custom ?? ''
    if (line.type === 'ai-title') this.#titles.ai = asTitle(line.aiTitle) ?? this.#titles.ai ?? ''
    if (line.type === 'summary') this.#titles.ai ||= asTitle(line.summary) ?? ''
    this.#noteMessage(asString(line.uuid), this.#messageBefore(line))
    this.items.push(rawEntry(NAME, session, String(line.type).slice(0, 40), line))
  }

  end(): void {
    if (this.#session === undefined && this.#damage.length + this.#early.length > 0) this.#begin(this.#early[0] ?? {})
    const title = this.#titles.custom || this.#titles.ai || this.#titles.prompt
    if (this.#session !== undefined && title !== undefined && title !== '')
      this.items.push({ kind: 'describe', session: this.#session, description: { title } })
  }

  #begin(line: JsonObject): void {
    const stem = stemOf(this.#source.name)
    const whole = asId(line.sessionId) ?? asId(stem) ?? 'session'
    // Newer versions write each sub-agent to a file of its own, under the id of the session that it works for.
    const agent = asId(line.agentId)
    this.#agent = line.isSidechain === true && agent !== undefined && stem.startsWith('agent-')
    this.#session = this.#agent ? `${whole}/agent-${agent}` : whole
    this.#beginSession(this.#session, line, this.#agent ? whole : undefined)
    for (const item of this.#damage.splice(0)) this.items.push(damageOf(item as Item & { kind: 'damage' }, this.#session))
    for (const early of this.#early.splice(0)) this.#read(early, false)
  }

  #beginSession(session: string, line: JsonObject, parent: string | undefined): void {
    const workspace = asString(line.cwd)?.slice(0, 1000)
    this.items.push({
      kind: 'session',
      session,
      at: asTime(line.timestamp),
      ...(parent === undefined ? {} : { parent: { session: parent, kind: 'child' } }),
      description: {
        ...(workspace === undefined ? {} : { workspace }),
        metadata: asMetadata({ source: NAME, git_branch: line.gitBranch, version: line.version }),
      },
    })
  }

  #conversation(line: JsonObject, recovered: boolean, raw: Raw | undefined): void {
    const inner = asObject(line.message) as JsonObject
    const id = this.#idOf(line)
    const at = asTime(line.timestamp)
    if (line.isSidechain === true && !this.#agent) {
      this.#sidechain(line, id, recovered, raw)
      return
    }
    const session = this.#session as string
    if (line.isCompactSummary === true && this.#last !== undefined) {
      this.#compaction(line, id)
      return
    }
    const isPrompt = line.type === 'user' && line.isMeta !== true && !isOnlyResults(inner)
    const after = isPrompt ? this.#wayBack(line) : undefined
    if (isPrompt) this.#prompts++
    this.#titles.prompt ??= isPrompt ? asTitle(contentText(inner.content).split('\n')[0]?.slice(0, 200)) : undefined
    this.#last = id
    this.#noteMessage(asString(line.uuid), id)
    this.items.push(new LineMessage({ session, id, at, after, recovered, usage: this.#usageIn(inner) }, line, raw))
  }

  #compaction(line: JsonObject, id: string): void {
    const session = this.#session as string
    const overview = contentText(asObject(line.message)?.content)
    this.#noteMessage(asString(line.uuid), this.#last)
    const outcome = { status: 'completed', overview, abstract: overview.split('\n')[0] ?? '' } as const
    this.items.push({ kind: 'archive', session, key: `compaction-${id}`, upTo: this.#last, at: asTime(line.timestamp), outcome })
    this.items.push(rawEntry(NAME, session, 'compact-summary', line))
  }

  #sidechain(line: JsonObject, id: string, recovered: boolean, raw: Raw | undefined): void {
    const [uuid, parent] = [asString(line.uuid), asString(line.parentUuid)]
    const root = asId(line.agentId) ?? this.#sidechains.get(parent ?? '') ?? id
    const child = `${this.#session}/agent-${root}`
    if (uuid !== undefined) this.#sidechains.set(uuid, root)
    if (!this.#children.has(child)) {
      this.#children.add(child)
      this.#beginSession(child, line, this.#session)
    }
    const inner = asObject(line.message) as JsonObject
    const at = asTime(line.timestamp)
    this.items.push(new LineMessage({ session: child, id, at, after: undefined, recovered, usage: this.#usageIn(inner) }, line, raw))
  }

  /** One reply may span several lines, each with all of its usage: the first has it. */
  #usageIn(inner: JsonObject): MessageItem['usage'] {
    const [usage, model] = [asObject(inner.usage), asString(inner.model)]
    const reply = asId(inner.id)
    if (usage === undefined || model?.startsWith('<') === true || this.#replies.get(reply ?? '') === true) return undefined
    const inputTokens = asCount(usage.input_tokens) + asCount(usage.cache_read_input_tokens) + asCount(usage.cache_creation_input_tokens)
    const call = callOf(model, inputTokens, asCount(usage.output_tokens))
    if (call !== undefined && reply !== undefined) this.#replies.set(reply, true)
    return call
  }

  /** A line without an id, or with one that another line has, is told by its content. */
  #idOf(line: JsonObject): string {
    const uuid = asId(line.uuid)
    const isUsed = uuid === undefined || this.#messages.get(uuid) !== undefined || this.#sidechains.has(uuid)
    return isUsed ? this.#ids.next(line) : uuid
  }

  /** The message to which a prompt goes back; undefined if it goes on where the conversation is. */
  #wayBack(line: JsonObject): string | undefined {
    const { message, prompts } = this.#lineNamed(asString(line.parentUuid) ?? '') ?? { message: undefined, prompts: 0 }
    return prompts < this.#prompts ? message : undefined
  }

  #messageBefore(line: JsonObject): string | undefined {
    const parent = asString(line.parentUuid)
    return parent === undefined ? this.#last : (this.#lineNamed(parent)?.message ?? this.#last)
  }

  #lineNamed(uuid: string): LineBeside | undefined {
    const beside = this.#beside.get(uuid)
    if (beside !== undefined) return beside
    const prompts = this.#messages.get(uuid)
    return prompts === undefined ? undefined : { message: uuid, prompts }
  }

  #noteMessage(uuid: string | undefined, message: string | undefined): void {
    if (uuid === undefined) return
    if (uuid === message) this.#messages.set(uuid, this.#prompts)
    else this.#beside.set(uuid, { message, prompts: this.#prompts })
  }
}

function isOnlyResults({ content }: JsonObject): boolean {
  const parts = asArray(content)
  return parts.length > 0 && parts.every((part) => asObject(part)?.type === 'tool_result')
}

const BESIDE = new Set(['message', 'uuid', 'sessionId', 'timestamp', 'type'])

/**
 * The message as the provider has it, and beside it what the line says of it. It is cut out of the line, where that is as it would be written
 * again; as an object it is made only for whoever asks.
 */
class LineMessage implements MessageItem {
  readonly kind = 'message'
  readonly session: string
  readonly id: string
  readonly at: string | undefined
  readonly after: string | undefined
  readonly recovered: boolean
  readonly usage: MessageItem['usage']
  readonly text: string | undefined
  readonly pieces: readonly Uint8Array[] | undefined
  readonly said: JsonObject
  readonly #line: JsonObject

  constructor({ session, id, at, after, recovered, usage }: Told, line: JsonObject, raw: Raw | undefined) {
    this.session = session
    this.id = id
    this.at = at
    this.after = after
    this.recovered = recovered
    this.usage = usage
    this.said = asObject(line.message) as JsonObject
    this.#line = line
    const isPlain = raw !== undefined && typeof this.said.role === 'string' && !('origin' in this.said)
    const written = isPlain ? fieldsIn(line, raw)?.withOrigin('message', BESIDE) : undefined
    this.text = written?.text
    this.pieces = written?.pieces
  }

  get message(): JsonObject {
    const origin = without(this.#line, ...BESIDE)
    return typeof this.said.role === 'string' ? { ...this.said, origin } : { ...this.said, role: this.#line.type as string, origin }
  }
}

interface Told {
  readonly session: string
  readonly id: string
  readonly at: string | undefined
  readonly after: string | undefined
  readonly recovered: boolean
  readonly usage: MessageItem['usage']
}
