/**
 * gemini-cli: a log of records for each session, or, as older versions wrote it, one document. A message that comes again replaces the one
 * with its id; a rewind goes back in front of a message; a new list of messages takes the place of the old one. Nothing of what was
 * rewound is lost: it stays on a branch of its own.
 */
import type { Json, JsonObject } from '../record/record.ts'
import { fieldsIn, literal, type Written } from './canonical.ts'
import type { Importer, Item, Source } from './item.ts'
import type { Raw } from './lines.ts'
import { damageOf, digested, firstObjects, headOf, type LineReader, rawEntry, readOne, readThrough, without } from './raw.ts'
import { RecentEntries } from './recent-entries.ts'
import {
  asArray,
  asCount,
  asId,
  asMetadata,
  asObject,
  asObjects,
  asString,
  asTime,
  asTitle,
  ContentIds,
  callOf,
  contentText,
  stemOf,
} from './values.ts'

const NAME = 'gemini-cli'
const TYPES = new Set(['user', 'gemini', 'info', 'error', 'warning'])
/** So many messages back one may come again before it is told by the store. */
const REMEMBERED = 25_000

export const geminiCli: Importer = {
  name: NAME,
  recognises: (source, heads) => {
    const head = headOf(source, heads) ?? ''
    if (firstObjects(head).some((line) => isMetadata(line) || '$set' in line || '$rewindTo' in line)) return true
    return /^\s*\{/.test(head) && /"sessionId"\s*:/.test(head) && /"projectHash"\s*:/.test(head)
  },
  read: (source) => (/\.jsonl/i.test(source.name) ? readLog(source) : readWhole(source)),
}

function isMetadata(line: JsonObject): boolean {
  return typeof line.sessionId === 'string' && (typeof line.projectHash === 'string' || typeof line.startTime === 'string')
}

function isMessage(line: JsonObject): boolean {
  return typeof line.type === 'string' && TYPES.has(line.type) && (line.content !== undefined || line.toolCalls !== undefined)
}

function isRecord(line: JsonObject): boolean {
  return isMetadata(line) || isMessage(line) || asObject(line.$set) !== undefined || typeof line.$rewindTo === 'string'
}

async function* readWhole(source: Source): AsyncGenerator<Item[]> {
  const { value, damage, recovered } = await readOne(source, ['messages'], isMessage)
  const document = asObject(value as JsonObject | undefined)
  const reader = new Reader(source)
  reader.line(without(document ?? {}, 'messages'), recovered)
  for (const one of damage) reader.damage(one)
  for (const message of asObjects(document?.messages)) reader.line(message, recovered)
  yield reader.items
}

function readLog(source: Source): AsyncIterable<Item[]> {
  return readThrough(source, isRecord, new Reader(source))
}

class Reader implements LineReader {
  readonly items: Item[] = []
  readonly #source: Source
  readonly #ids = new ContentIds()
  readonly #damage: Item[] = []
  /** What tells the content of each message: one may come again with another. What was forgotten since, the store knows by its id. */
  readonly #seen = new RecentEntries<number>(REMEMBERED)
  #session: string | undefined
  /** The conversation as it is now. */
  #path: string[] = []
  #last: string | null = null

  constructor(source: Source) {
    this.#source = source
  }

  damage(damage: Item & { kind: 'damage' }): void {
    if (this.#session === undefined) this.#damage.push(damage)
    else this.items.push(damageOf(damage, this.#session))
  }

  end(): void {
    if (this.#session === undefined && this.#damage.length > 0) this.#begin({})
  }

  line(record: JsonObject, recovered: boolean, raw?: Raw): void {
    if (this.#session === undefined) this.#begin(record)
    const session = this.#session as string
    const set = asObject(record.$set)
    if (isMessage(record)) this.#message(record, { recovered, raw })
    else if (typeof record.$rewindTo === 'string') {
      const place = this.#path.indexOf(record.$rewindTo)
      if (place !== -1) this.#path = this.#path.slice(0, place)
    } else if (set !== undefined) {
      const summary = asTitle(set.summary)
      if (summary !== undefined) this.items.push({ kind: 'describe', session, description: { title: summary } })
      if (Array.isArray(set.messages)) this.#replaceAll(asObjects(set.messages), recovered)
      if (Object.keys(set).some((name) => name !== 'messages')) this.items.push(rawEntry(NAME, session, 'set', without(set, 'messages')))
    } else this.items.push(rawEntry(NAME, session, 'metadata', record))
  }

  #begin(metadata: JsonObject): void {
    this.#session = asId(metadata.sessionId) ?? asId(stemOf(this.#source.name)) ?? 'session'
    const title = asTitle(metadata.summary)
    const [workspace] = asArray(metadata.directories)
    this.items.push({
      kind: 'session',
      session: this.#session,
      at: asTime(metadata.startTime),
      description: {
        ...(title === undefined ? {} : { title }),
        ...(typeof workspace === 'string' && workspace !== '' ? { workspace: workspace.slice(0, 1000) } : {}),
        metadata: asMetadata({ source: NAME, project_hash: metadata.projectHash, kind: metadata.kind }),
      },
    })
    for (const item of this.#damage.splice(0)) this.items.push(damageOf(item as Item & { kind: 'damage' }, this.#session))
  }

  #replaceAll(messages: readonly JsonObject[], recovered: boolean): void {
    const before = this.#path
    let shared = 0
    while (shared < messages.length && shared < before.length && asId(messages[shared]?.id) === before[shared]) shared++
    this.#path = before.slice(0, shared)
    for (const message of messages.slice(0, shared)) this.#message(message, { recovered, known: true })
    for (const message of messages.slice(shared)) this.#message(message, { recovered })
  }

  #message(record: JsonObject, { recovered, known = false, raw }: { recovered: boolean; known?: boolean; raw?: Raw | undefined }): void {
    const session = this.#session as string
    const id = asId(record.id) ?? this.#ids.next(record)
    const message = messageOf(record)
    const at = asTime(record.timestamp)
    const written = raw === undefined ? undefined : writtenIn(record, raw)
    const { text, pieces, digest: sum } = digested(written ?? { text: JSON.stringify(message) })
    const tokens = asObject(record.tokens)
    const usage = callOf(asString(record.model), asCount(tokens?.input), asCount(tokens?.output))
    const [first, now] = [this.#seen.get(id), Number.parseInt(sum.slice(0, 13), 16)]
    this.#seen.set(id, now)
    if (first !== undefined) {
      if (first !== now) this.items.push({ kind: 'replacement', session, id, message, at, usage })
      if (!known && !this.#path.includes(id)) this.#path.push(id)
      return
    }
    const before = this.#path.at(-1) ?? null
    this.#path.push(id)
    const after = before === this.#last ? undefined : before
    this.#last = id
    this.items.push({ kind: 'message', session, id, message, at, after, recovered, usage, text, digest: sum, pieces })
  }
}

const BESIDE = new Set(['id', 'timestamp', 'content', 'toolCalls', 'thoughts'])
const [REPLY, REPLY_ENDS] = [literal('{"role":"assistant","content":[{"type":"text","text":'), literal('}]')]
const [PROMPT, NOTICE] = [literal('{"role":"user","content":'), literal('{"role":"system","content":')]

/** What `messageOf` makes of a record that is nothing but text, as JSON, cut out of its line. Undefined where it cannot be cut out. */
function writtenIn(record: JsonObject, raw: Raw): Written | undefined {
  const isReply = record.type === 'gemini'
  const { content, thoughts, toolCalls } = record
  if (typeof content !== 'string' || content === '' || (isReply && (thoughts !== undefined || toolCalls !== undefined))) return undefined
  const fields = fieldsIn(record, raw)
  if (isReply) return fields?.withOrigin('content', BESIDE, REPLY, REPLY_ENDS)
  return fields?.withOrigin('content', BESIDE, record.type === 'user' ? PROMPT : NOTICE)
}

function messageOf(record: JsonObject): JsonObject {
  const origin = without(record, ...BESIDE)
  if (record.type !== 'gemini') return { role: record.type === 'user' ? 'user' : 'system', content: record.content ?? '', origin }
  const thoughts = asObjects(record.thoughts).map(({ subject, description }) => ({
    type: 'reasoning',
    text: [subject, description].filter((part) => typeof part === 'string').join(': '),
  }))
  const text = contentText(record.content)
  const said: Json[] = text === '' ? [] : [{ type: 'text', text }]
  const calls = asObjects(record.toolCalls).map((call) => ({
    ...without(call, 'id', 'name', 'args', 'result'),
    type: 'dynamic-tool',
    toolCallId: asString(call.id) ?? '',
    toolName: asString(call.name) ?? 'tool',
    input: call.args ?? {},
    ...(call.result === undefined
      ? { state: 'input-available' }
      : call.status === 'error'
        ? { state: 'output-error', errorText: JSON.stringify(call.result) }
        : { state: 'output-available', output: call.result }),
  }))
  return { role: 'assistant', content: [...thoughts, ...said, ...calls], origin }
}
