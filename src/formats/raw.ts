/** What importers do alike. */
import type { Json, JsonObject } from '../record/record.ts'
import { type Written, writtenAs } from './canonical.ts'
import type { DamageItem, EntryItem, Item, MessageItem, Source, SourceFile } from './item.ts'
import { type Raw, type ReadDocument, type ReadRecord, readDocument, readRecords } from './lines.ts'
import type { IsRecord } from './salvage.ts'
import { type ContentIds, digest } from './values.ts'

/** The channel of what is kept as it was, because it is no message. */
function channelOf(format: string): string {
  return `import:${format}`
}

/** A record that is no message, kept as it is. Its key tells its content, so that it is kept once. */
export function rawEntry(format: string, session: string, name: string, value: Json): EntryItem {
  const json = JSON.stringify(value)
  return { kind: 'entry', session, channel: channelOf(format), key: `${name}-${digest(json).slice(0, 16)}`, value, length: json.length }
}

/** A message that is told by its content: what tells it is made once. `raw`: the line that it was read from, if it is all of that. */
export function contentItem(
  session: string,
  message: JsonObject,
  ids: ContentIds,
  { at, recovered }: Pick<MessageItem, 'at' | 'recovered'>,
  raw?: Raw,
): MessageItem {
  const written = raw === undefined ? undefined : writtenAs(message, raw)
  const { text, pieces, digest: sum } = digested(written ?? { text: JSON.stringify(message) })
  return { kind: 'message', session, id: ids.nextOf(sum), message, at, after: undefined, recovered, text, digest: sum, pieces }
}

/** With its digest, in one piece. */
export function digested({ text, pieces }: Written): Pick<MessageItem, 'text' | 'pieces'> & { readonly digest: string } {
  if (pieces === undefined) return { text, pieces, digest: digest(text) }
  const whole = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces)
  return { text, pieces: [whole], digest: digest(whole) }
}

/** Damage, now that it is known whose it is. */
export function damageOf(damage: DamageItem, session: string | null): DamageItem {
  return { ...damage, session }
}

/** The one file of a source that has one. */
export function fileOf(source: Source): SourceFile {
  return source.files[0] as SourceFile
}

export function readOne(source: Source, arrays: readonly string[], isRecord: IsRecord): Promise<ReadDocument> {
  return readDocument(fileOf(source), arrays, isRecord)
}

/** Where a line is in its file. */
export type LinePosition = Pick<ReadRecord, 'line' | 'offset'>

/** What makes items of a log, line by line, and puts them behind those that it has made: a generator for each line would take longer than the line. */
export interface LineReader {
  readonly items: Item[]
  damage(damage: DamageItem): void
  line(record: JsonObject, recovered: boolean, raw: Raw | undefined, position: LinePosition): void
  end(): void
}

/** Has a log read by a reader, to its end. */
export async function* readThrough(source: Source, isRecord: IsRecord, reader: LineReader): AsyncGenerator<Item[]> {
  for await (const reads of readRecords(fileOf(source), isRecord)) {
    for (const read of reads) {
      if ('kind' in read) reader.damage(read)
      else reader.line(read.record, read.recovered, read.raw, read)
    }
    yield reader.items.splice(0)
  }
  reader.end()
  yield reader.items.splice(0)
}

/** Objects at the beginning of a file, as many as are whole there; none of a file that is one long document. */
export function firstObjects(head: string | undefined): JsonObject[] {
  const found: JsonObject[] = []
  for (const line of (head ?? '')
    .replace(/^\ufeff/, '')
    .split('\n')
    .slice(0, 20)) {
    try {
      const value = JSON.parse(line) as Json
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) found.push(value as JsonObject)
    } catch {
      // The last line is cut; others may be damaged.
    }
  }
  return found
}

/** The beginning of the file, if the source is one file. */
export function headOf(source: Source, heads: ReadonlyMap<string, string>): string | undefined {
  return source.files.length === 1 ? heads.get(fileOf(source).path) : undefined
}

export function without(object: JsonObject, ...fields: readonly string[]): JsonObject {
  // Set like any other, this field would become the object's prototype.
  if (Object.hasOwn(object, '__proto__')) return Object.fromEntries(Object.entries(object).filter(([name]) => !fields.includes(name)))
  const rest: Record<string, Json> = {}
  for (const name of Object.keys(object)) if (!fields.includes(name)) rest[name] = object[name] as Json
  return rest
}
