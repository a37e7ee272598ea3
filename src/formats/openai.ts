/**
 * OpenAI chat completions: a JSON array of messages, an object with one, or JSONL of messages or of samples. There are no ids and no times:
 * messages are told by their content, a file by its name, a sample by all that it says.
 */
import type { Json, JsonObject } from '../record/record.ts'
import type { Importer, Item, Source } from './item.ts'
import { type Read, readRecords } from './lines.ts'
import { contentItem, damageOf, fileOf, firstObjects, headOf, readOne } from './raw.ts'
import { asId, asMetadata, asObjects, ContentIds, digest, stemOf } from './values.ts'

const NAME = 'openai'
const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

export const openAiChat: Importer = {
  name: NAME,
  recognises: (source, heads) => {
    const head = headOf(source, heads)
    if (head === undefined) return false
    if (/^\s*\[\s*\{/.test(head)) return /"role"\s*:/.test(head)
    if (firstObjects(head).some((one) => isMessage(one) || isSample(one))) return true
    return /^\s*\{/.test(head) && /"messages"\s*:\s*\[/.test(head) && /"role"\s*:/.test(head)
  },
  read: (source) => (/\.(?:jsonl|ndjson)/i.test(source.name) ? readLines(source) : readWhole(source)),
}

function isMessage(one: JsonObject): boolean {
  return typeof one.role === 'string' && ROLES.has(one.role)
}

function isSample(one: JsonObject): boolean {
  return Array.isArray(one.messages)
}

function sessionItem(session: string): Item {
  return { kind: 'session', session, description: { metadata: asMetadata({ source: NAME }) } }
}

function* messageItems(session: string, messages: readonly JsonObject[], ids: ContentIds, recovered: boolean): Generator<Item> {
  for (const message of messages) yield contentItem(session, message, ids, { recovered })
}

/** A path has one file at a time, and two files may begin alike: they are told apart by where they are. */
function nameOf(source: Source): string {
  return `${asId(stemOf(source.name)) ?? 'chat'}-${digest(source.name).slice(0, 8)}`
}

async function* readWhole(source: Source): AsyncGenerator<Item | Item[]> {
  const { value, damage, recovered } = await readOne(source, ['messages'], isMessage)
  // One object after the other, as lines, whatever the file is called.
  if (value !== undefined && !Array.isArray(value) && !isSample(value as JsonObject)) {
    yield* readLines(source)
    return
  }
  if (value === undefined && damage.length > 0) {
    yield* readLines(source)
    return
  }
  const session = nameOf(source)
  yield sessionItem(session)
  for (const one of damage) yield damageOf(one, session)
  const messages = Array.isArray(value) ? (value as JsonObject[]) : asObjects((value as JsonObject | undefined)?.messages as Json)
  yield* messageItems(session, messages, new ContentIds(), recovered)
}

async function* readLines(source: Source): AsyncGenerator<Item[]> {
  const session = nameOf(source)
  const ids = new ContentIds()
  const samples = new ContentIds()
  let begun = false
  const items = function* (reads: readonly Read[]): Generator<Item> {
    for (const read of reads) {
      if ('kind' in read) yield damageOf(read, begun ? session : null)
      else if (isSample(read.record)) {
        const sample = `${asId(stemOf(source.name)) ?? 'sample'}-${samples.next(read.record.messages as Json)}`
        yield sessionItem(sample)
        yield* messageItems(sample, asObjects(read.record.messages), new ContentIds(), read.recovered)
      } else {
        if (!begun) yield sessionItem(session)
        begun = true
        yield contentItem(session, read.record, ids, { recovered: read.recovered }, read.raw)
      }
    }
  }
  for await (const reads of readRecords(fileOf(source), (one) => isMessage(one) || isSample(one))) yield [...items(reads)]
}
