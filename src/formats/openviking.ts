/**
 * OpenViking: a directory for each session, with the live messages, and a directory for each archive. An archive and its marker can have
 * reached the disk while the emptied live file did not; then old messages are in both. They are told apart by id and by nothing else: a
 * count can be wrong, and a live message whose id no archive has is live.
 */
import type { Json, JsonObject } from '../record/record.ts'
import type { ArchiveOutcome, Importer, Item, Source, SourceFile } from './item.ts'
import { readDocument, readRecords, readText } from './lines.ts'
import { damageOf, rawEntry } from './raw.ts'
import { parsed } from './salvage.ts'
import { asId, asObject, asString, asTime, asTitle, ContentIds, stemOf } from './values.ts'

const NAME = 'openviking'
const ARCHIVE = /^history\/(archive_(\d+))\/(.+)$/
const KEPT_BYTES = 1024 * 1024

export const openViking: Importer = {
  name: NAME,
  recognises: ({ files }) => {
    const paths = files.map(({ path }) => path)
    return paths.some((path) => path === 'messages.jsonl') || paths.some((path) => ARCHIVE.test(path))
  },
  read,
}

function isMessage(value: JsonObject): boolean {
  return typeof value.role === 'string' && (Array.isArray(value.parts) || value.content !== undefined || typeof value.id === 'string')
}

async function* read(source: Source): AsyncGenerator<Item> {
  const files = new Map(source.files.map((file) => [file.path, file]))
  const meta = await objectIn(files.get('.meta.json'))
  const session = asId(meta?.session_id) ?? asId(stemOf(source.name.replace(/[/\\]+$/, ''))) ?? 'session'
  yield {
    kind: 'session',
    session,
    at: asTime(meta?.created_at),
    description: { ...titleOf(meta), metadata: { source: NAME, ...(usageOf(meta) ?? {}) } },
  }
  const ids = new ContentIds()
  const archived = new Set<string>()
  for (const archive of archivesOf(source)) yield* readArchive(session, archive, archived, ids)
  const live = files.get('messages.jsonl')
  const back: string[] = []
  if (live !== undefined) {
    for await (const item of readMessages(session, live, ids)) {
      if (item.kind === 'message' && archived.has(item.id)) back.push(item.id)
      else yield item
    }
  }
  if (back.length > 0) {
    const what = `${back.length} messages that an archive holds were in the live file again: its clearing was lost. They are told by their ids.`
    yield { kind: 'healed', session, what }
  }
  for (const file of source.files) {
    const own =
      file.path !== 'messages.jsonl' && !/^history\/archive_\d+\/(?:messages\.jsonl|\.abstract\.md|\.overview\.md)$/.test(file.path)
    if (own) yield* rawFile(session, file)
  }
}

interface Archive {
  readonly name: string
  readonly files: ReadonlyMap<string, SourceFile>
}

function archivesOf({ files }: Source): Archive[] {
  const archives = new Map<string, { name: string; number: number; files: Map<string, SourceFile> }>()
  for (const file of files) {
    const [, name, number, rest] = ARCHIVE.exec(file.path) ?? []
    if (name === undefined || rest === undefined) continue
    const archive = archives.get(name) ?? { name, number: Number(number), files: new Map() }
    archives.set(name, archive)
    archive.files.set(rest, file)
  }
  return [...archives.values()].sort((a, b) => a.number - b.number)
}

async function* readArchive(session: string, { name, files }: Archive, archived: Set<string>, ids: ContentIds): AsyncGenerator<Item> {
  const messages = files.get('messages.jsonl')
  let last: string | undefined
  if (messages !== undefined) {
    for await (const item of readMessages(session, messages, ids)) {
      if (item.kind === 'message') {
        // Two archives with the same message, as two commits at once have left them: the first one holds it.
        if (archived.has(item.id)) continue
        archived.add(item.id)
        last = item.id
      }
      yield item
    }
  }
  const meta = await objectIn(files.get('.meta.json'))
  const summary = await summaryOf(files)
  const outcome = await outcomeOf(files, summary)
  if (last !== undefined) {
    yield { kind: 'archive', session, key: name, upTo: last, at: asTime(meta?.created_at ?? meta?.timestamp), outcome }
  }
  // A summary that no archive here has is kept beside the messages.
  const isUsed = last !== undefined && outcome.status === 'completed'
  if (summary !== undefined && !isUsed) yield rawEntry(NAME, session, `${name}/summary`, { ...summary })
}

interface Summary {
  readonly abstract: string
  readonly overview: string
}

async function summaryOf(files: ReadonlyMap<string, SourceFile>): Promise<Summary | undefined> {
  const [overview, abstract] = [await textIn(files.get('.overview.md')), await textIn(files.get('.abstract.md'))]
  if (overview === undefined && abstract === undefined) return undefined
  return { overview: overview ?? abstract ?? '', abstract: abstract ?? firstLine(overview ?? '') }
}

/**
 * `.done` is the last file that OpenViking writes for an archive. Without it, the summary may be there and the memories may not: the task was not
 * finished. A worker of this store finishes it, and makes both. The files of a first attempt are kept as entries.
 */
async function outcomeOf(
  files: ReadonlyMap<string, SourceFile>,
  summary: Summary = { abstract: '', overview: '' },
): Promise<ArchiveOutcome> {
  if (files.has('.done')) return { status: 'completed', ...summary }
  const failed = files.get('.failed.json')
  if (failed === undefined) return { status: 'pending' }
  const why = await objectIn(failed)
  const message = asString(why?.error ?? why?.message ?? why?.reason) ?? 'It had failed before it was imported.'
  return { status: 'failed', error: { code: 'IMPORTED', message: message.slice(0, 2000) } }
}

async function* readMessages(session: string, file: SourceFile, ids: ContentIds): AsyncGenerator<Item> {
  for await (const reads of readRecords(file, isMessage))
    for (const read of reads) {
      if ('kind' in read) yield damageOf(read, session)
      else {
        const message = read.record
        const id = asId(message.id) ?? ids.next(message)
        yield { kind: 'message', session, id, message, at: asTime(message.created_at), recovered: read.recovered }
      }
    }
}

async function* rawFile(session: string, file: SourceFile): AsyncGenerator<Item> {
  if (file.size > KEPT_BYTES) {
    const place = { file: file.path, line: null, offset: 0, length: file.size }
    yield { kind: 'damage', session, place, reason: 'A file beside the messages that is too long to be kept.', bytes: new Uint8Array() }
    return
  }
  const { text } = await readText(file)
  // No JSON, or damaged: kept as text.
  yield rawEntry(NAME, session, file.path.slice(-200), parsed(text) ?? text)
}

async function objectIn(file: SourceFile | undefined): Promise<JsonObject | undefined> {
  if (file === undefined) return undefined
  const { value } = await readDocument(file, [], () => false)
  return Array.isArray(value) ? undefined : asObject(value as Json | undefined)
}

async function textIn(file: SourceFile | undefined): Promise<string | undefined> {
  const text = file === undefined ? '' : (await readText(file)).text.trim()
  return text === '' ? undefined : text
}

function firstLine(text: string): string {
  return text.split('\n').find((line) => line.trim() !== '') ?? ''
}

function titleOf(meta: JsonObject | undefined): { title?: string } {
  const title = asTitle(meta?.title)
  return title === undefined ? {} : { title }
}

function usageOf(meta: JsonObject | undefined): JsonObject | undefined {
  const usage = asObject(meta?.llm_token_usage) ?? asObject(meta?.token_usage)
  return usage === undefined ? undefined : { llm_token_usage: usage }
}
