/**
 * nanobot: one JSONL file for each session, with a line of metadata in front. Messages have no ids. What was consolidated is told by a count
 * of lines; those messages become an archive, which keeps them all, so a count that is wrong costs nothing.
 */
import type { JsonObject } from '../record/record.ts'
import type { Importer, Item, Source } from './item.ts'
import { type Read, readRecords } from './lines.ts'
import { contentItem, damageOf, fileOf, firstObjects, headOf, rawEntry } from './raw.ts'
import { asCount, asId, asMetadata, asObject, asString, asTime, asTitle, ContentIds, stemOf } from './values.ts'

const NAME = 'nanobot'

export const nanobot: Importer = {
  name: NAME,
  recognises: (source, heads) => {
    const first = firstObjects(headOf(source, heads))
    if (first.some(({ _type }) => _type === 'metadata' || _type === 'provider_state')) return true
    return first.some((line) => isHistory(line) || (isMessage(line) && isLocalTime(line.timestamp) && line.type === undefined))
  },
  read,
}

function isMessage(line: JsonObject): boolean {
  return typeof line.role === 'string'
}

function isHistory(line: JsonObject): boolean {
  return typeof line.cursor === 'number' && typeof line.content === 'string' && line.role === undefined
}

/** Without a zone, which no other format has. */
function isLocalTime(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?$/.test(value)
}

async function* read(source: Source): AsyncGenerator<Item[]> {
  const isRecord = (line: JsonObject): boolean => typeof line._type === 'string' || isMessage(line) || isHistory(line)
  const ids = new ContentIds()
  const waiting: Item[] = []
  let session: string | undefined
  let consolidated = { count: 0, summary: undefined as string | undefined, at: undefined as string | undefined }
  let [lines, archived] = [0, false]
  let last: string | undefined
  const begin = function* (metadata: JsonObject | undefined): Generator<Item> {
    session = asId(metadata?.key) ?? keyOf(source.name)
    const facts = asObject(metadata?.metadata)
    const title = asTitle(facts?.title)
    yield {
      kind: 'session',
      session,
      at: asTime(metadata?.created_at),
      description: {
        ...(title === undefined ? {} : { title }),
        metadata: asMetadata({ source: NAME, session_handle: facts?.session_handle }),
      },
    }
    for (const item of waiting.splice(0)) yield item.kind === 'damage' ? damageOf(item, session) : item
  }
  const archive = function* (): Generator<Item> {
    if (archived || last === undefined || consolidated.count === 0 || session === undefined) return
    archived = true
    const overview = consolidated.summary ?? ''
    const outcome = { status: 'completed', overview, abstract: overview.split('\n')[0] ?? '' } as const
    yield { kind: 'archive', session, key: `consolidated-${last}`, upTo: last, at: consolidated.at, outcome }
  }
  const items = function* (reads: readonly Read[]): Generator<Item> {
    for (const read of reads) {
      if ('kind' in read) {
        lines++
        if (session === undefined) waiting.push(read)
        else yield damageOf(read, session)
        continue
      }
      const { record, recovered, raw } = read
      if (record._type === 'metadata') {
        if (session === undefined) {
          // What stood in front of it was no message of this session.
          lines = 0
          yield* begin(record)
          const summary = asObject(asObject(record.metadata)?._last_summary)
          consolidated = { count: asCount(record.last_consolidated), summary: asString(summary?.text), at: asTime(summary?.last_active) }
        }
        yield rawEntry(NAME, session as string, 'metadata', record)
        continue
      }
      if (session === undefined) yield* begin(undefined)
      const own = session as unknown as string
      if (isMessage(record) && record._type === undefined) {
        lines++
        const item = contentItem(own, record, ids, { at: asTime(record.timestamp), recovered }, raw)
        last = item.id
        yield item
        if (lines === consolidated.count) yield* archive()
        // Opaque to everybody but its provider, and of no use elsewhere.
      } else if (record._type !== 'provider_state') yield rawEntry(NAME, own, String(record._type ?? `history-${record.cursor}`), record)
    }
  }
  for await (const reads of readRecords(fileOf(source), isRecord)) yield [...items(reads)]
  if (session === undefined && waiting.length > 0) yield [...begin(undefined)]
  // More were counted than are there.
  if (lines < consolidated.count) yield [...archive()]
}

/** The key that a file's name stands for: as base64url, or as older versions wrote it. */
function keyOf(name: string): string {
  const stem = stemOf(name)
  const decoded = Buffer.from(stem, 'base64url').toString('utf8')
  const isEncoded = /^[\x20-\x7e]+$/.test(decoded) && decoded.includes(':') && Buffer.from(decoded).toString('base64url') === stem
  return asId(isEncoded ? decoded : stem.replace('_', ':')) ?? 'session'
}
