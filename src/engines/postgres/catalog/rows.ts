/** What stands in the tables of the catalog, from what was seen of sessions. All texts are without NUL, which PostgreSQL cannot hold. */
import { hash } from 'node:crypto'
import { digest } from '../../../engine/canonical.ts'
import type { DocumentPlace, MessagePut, SessionPut, SummaryPut } from '../../../engine/catalog.ts'
import { withoutNul } from '../../../engine/nul.ts'
import type { Json } from '../../../record/record.ts'
import { marksOfText, vectorsOf } from './words.ts'

/** The columns of each table that are put, with their types: rows travel as one value of JSON. */
export const COLUMNS = {
  sessions: {
    ...{ name: 'text', sid: 'uuid', space: 'text', id: 'text', status: 'text', gone: 'boolean', title: 'text', title_key: 'text' },
    haystack: 'text',
    ...{ marks: 'text[]', usage: 'text', owner: 'text', workspace: 'text', parent: 'text', created: 'text', updated: 'text' },
    ...{ updated_ms: 'bigint', info: 'text', live: 'bigint', archived: 'bigint', tokens: 'bigint', bytes: 'bigint', due: 'boolean' },
    ...{ past: 'text', ends: 'bigint', crc: 'text', born: 'bigint' },
  },
  usage: { name: 'text', model: 'text', space: 'text', calls: 'bigint', input: 'bigint', output: 'bigint' },
  tasks: {
    ...{
      name: 'text',
      archive: 'bigint',
      space: 'text',
      task: 'text',
      status: 'text',
      attempts: 'bigint',
      created: 'text',
      updated: 'text',
    },
    ...{ ended: 'bigint' },
  },
  extractions: {
    ...{ name: 'text', archive: 'bigint', place: 'integer', space: 'text', owner: 'text', at: 'text', key: 'text', memory: 'text' },
  },
  days: { name: 'text', day: 'text', space: 'text', messages: 'bigint', tokens: 'bigint' },
  texts: {
    ...{
      sid: 'uuid',
      doc: 'bigint',
      position: 'bigint',
      source: 'bigint',
      run: 'bigint',
      depth: 'bigint',
      at: 'bigint',
      archive: 'bigint',
    },
    ...{ place: 'integer', part: 'integer', off: 'boolean', kind: 'text', role: 'text', space: 'text', words: 'tsvector' },
  },
} as const

export type Table = keyof typeof COLUMNS
export type Values = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

export function sessionRow(put: SessionPut): Values {
  const { name, space, id, status, title, tags, owner, workspace, parent, createdAt, updatedAt, info } = put
  const { live, archived, tokens, bytes, due, born, mark } = put
  return escaped({
    ...{ name, sid: sidOf(name), space, id, status, gone: status === 'deleted', title, title_key: (title ?? '').toLowerCase() },
    haystack: `${id}\n${title ?? ''}\n${tags.join('\n')}`.toLowerCase(),
    ...{ marks: marksOf(put), usage: JSON.stringify(put.usage), owner, workspace, parent, created: createdAt, updated: updatedAt },
    ...{ updated_ms: millisecondsOf(updatedAt), info: JSON.stringify(info), live, archived, tokens, bytes, due },
    ...{ past: JSON.stringify(put.past), ends: mark.end, crc: mark.crc, born },
  })
}

/** A session among texts: its name is long, and there are many of them. */
export function sidOf(name: string): string {
  return hash('sha256', name, 'hex').slice(0, 32)
}

/** What a list may be filtered by, as words of one column. */
export const tagMark = (tag: string): string => mark(`t${tag}`)
export const modelMark = (model: string): string => mark(`m${model}`)
export const fieldMark = (field: string, value: Json): string => mark(`f${JSON.stringify(field)}${digest(value)}`)

/** An entry of an index has to be short. */
function mark(text: string): string {
  return text.length <= 200 ? withoutNul(text) : hash('sha256', text, 'hex')
}

function marksOf({ tags, usage, metadata }: SessionPut): string[] {
  const fields = Object.entries(metadata).map(([field, value]) => fieldMark(field, value as Json))
  return [...new Set([...tags.map(tagMark), ...usage.map(({ model }) => modelMark(model)), ...fields])]
}

export function usageRows({ name, space, usage }: SessionPut): Values[] {
  return usage.map(({ model, calls, inputTokens, outputTokens }) =>
    escaped({ name, model, space, calls, input: inputTokens, output: outputTokens }),
  )
}

export function taskRows({ name, space, tasks }: SessionPut): Values[] {
  return tasks.map(({ archive, task, status, attempts, createdAt, updatedAt, ended }) =>
    escaped({ name, archive, space, task, status, attempts, created: createdAt, updated: updatedAt, ended }),
  )
}

export function extractionRows({ name, space }: SessionPut, { archive, owner, at, memories }: SummaryPut): Values[] {
  return memories.map((memory, place) =>
    escaped({ name, archive, place, space, owner, at, key: memory.key, memory: JSON.stringify(memory) }),
  )
}

/** Hands out the numbers of texts. */
export type NextDoc = () => number

/** How many texts the rows of sessions may come to. */
export function documentsOf(puts: readonly SessionPut[]): number {
  return puts.reduce((sum, { summaries }) => sum + 1 + summaries.reduce((texts, { memories }) => texts + 1 + memories.length, 0), 0)
}

export function titleRows({ name, space, title, tags, updatedAt }: SessionPut, next: NextDoc): Values[] {
  const text = [title ?? '', ...tags].join('\n').trim()
  return textRows({ ...NO_MESSAGE, sid: sidOf(name), doc: next(), space, kind: 'session', at: millisecondsOf(updatedAt) }, text)
}

export function summaryRows({ name, space }: SessionPut, { archive, position, at, text, memories }: SummaryPut, next: NextDoc): Values[] {
  const shared = { ...NO_MESSAGE, sid: sidOf(name), space, position, source: position, at: millisecondsOf(at), archive }
  const ofMemories = memories.flatMap((memory, place) => textRows({ ...shared, doc: next(), kind: 'memory', place }, memory.text ?? ''))
  return [...textRows({ ...shared, doc: next(), kind: 'summary' }, text), ...ofMemories]
}

export function messageRows(sid: string, space: string, message: MessagePut, doc: number): Values[] {
  const { position, index: place, source, run, depth, role, at, archive, onBranch, text } = message
  return textRows({ sid, doc, space, kind: 'message', position, place, source, run, depth, role, at, archive, off: !onBranch }, text)
}

interface DocumentRow extends DocumentPlace {
  readonly sid: string
  readonly doc: number
}

const NO_MESSAGE = { position: 0, place: 0, source: 0, run: 0, depth: 0, role: '', archive: null, off: false }

function textRows(place: DocumentRow, text: string): Values[] {
  const marks = marksOfText(place)
  return vectorsOf(withoutNul(text)).map((words, part) => ({ ...escaped({ ...place }), part, words: `${words} ${marks}` }))
}

function escaped(row: Values): Values {
  const values = Object.entries(row).map(([key, value]) => [key, typeof value === 'string' ? withoutNul(value) : value])
  return Object.fromEntries(values) as Values
}

function millisecondsOf(time: string): number {
  return Date.parse(time) || 0
}
