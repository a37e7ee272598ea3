/** Every route, with what it must answer. */

import { BASE } from '../../../src/server/envelope.ts'
import type { Route } from '../../../src/server/route.ts'
import { ROUTES } from '../../../src/server/table.ts'
import { DAMAGE_HEADER } from '../../../src/wire/damage.ts'
import {
  ACCEPTS,
  type Answers,
  elsewhere,
  LISTS,
  READS,
  READS_CONTENT,
  READS_DAMAGE,
  READS_EARLIER,
  READS_ENTRY,
  READS_LATE,
  READS_OWNER,
  READS_STATE,
  READS_TURN,
  READS_WINDOW,
  type Seen,
  silent,
  WRITES,
  WRITES_COMPARED,
  WRITES_THE_LOST,
} from './answers.ts'
import type { Opened } from './place.ts'
import { WORD } from './subject.ts'
import { refusedWith, type Surface } from './surface.ts'

interface RouteSpec {
  readonly answers: Answers
  readonly query?: string
  readonly body?: unknown
  /** Where the result itself says it. */
  readonly reports?: (result: never) => boolean
}

const MESSAGE = { role: 'user', content: 'x' }
const KEYS = elsewhere('reads keys only')
const SETTINGS = elsewhere('reads settings only')
const SPACE = elsewhere('a session that cannot be read is skipped, or named as failed')
const TASK = silent('a task is read from the state; GET of its session reports')

const SPECS: Readonly<Record<string, RouteSpec>> = {
  'get /sessions': { answers: LISTS },
  'get /sessions/{id}': { answers: READS_STATE },
  'get /sessions/{id}/records': { answers: READS },
  'get /sessions/{id}/damage': { answers: READS_DAMAGE },
  'get /sessions/{id}/messages': { answers: READS, query: '?archived=include' },
  'get /sessions/{id}/messages/{mid}': { answers: READS_CONTENT },
  'get /sessions/{id}/messages/{mid}/record': { answers: READS_CONTENT },
  'get /sessions/{id}/messages/{mid}/revisions': { answers: READS_CONTENT },
  'get /sessions/{id}/entries': { answers: READS_ENTRY, query: '?channel=notes' },
  'get /sessions/{id}/tree': { answers: READS_STATE },
  'get /sessions/{id}/snapshots': { answers: READS_STATE },
  'get /sessions/{id}/turn': { answers: READS_TURN },
  'get /sessions/{id}/context': { answers: READS_WINDOW },
  'get /sessions/{id}/window': { answers: READS_WINDOW },
  'get /sessions/{id}/archives': { answers: READS_STATE },
  'get /sessions/{id}/archives/{aid}': { answers: READS_EARLIER },
  'get /sessions/{id}/shares': { answers: READS_STATE },
  'get /sessions/{id}/events': { answers: silent('streams what is appended from now on') },
  'get /sessions/{id}/tool-results': { answers: READS },
  'get /sessions/{id}/tool-results/{rid}': { answers: READS_LATE },
  'get /sessions/{id}/tool-results/{rid}/search': { answers: READS_LATE, query: `?q=${WORD}` },
  'get /sessions/{id}/usage': { answers: READS_STATE },
  'get /stats/sessions/{id}': { answers: READS },
  'get /sessions/{id}/export': { answers: READS },
  'get /export': { answers: LISTS },
  'get /shared/{token}': { answers: READS_LATE, query: '?limit=100' },
  'get /search': { answers: LISTS, query: `?q=${WORD}` },
  'post /search/find': { answers: LISTS, body: { query: WORD } },
  'post /search/search': { answers: LISTS, body: { query: WORD } },
  'get /stats': { answers: LISTS, reports: ({ sessions }: { sessions: { damaged: number } }) => sessions.damaged > 0 },
  'post /doctor': {
    answers: LISTS,
    reports: ({ findings }: { findings: { severity: string }[] }) => findings.some(({ severity }) => severity === 'damage'),
  },
  'get /tasks': { answers: elsewhere('lists tasks from the catalog') },
  'get /tasks/{tid}': { answers: TASK },
  'get /memories': { answers: elsewhere('reads what summaries say, none of which was hit'), query: '?owner=kim' },
  'get /events': { answers: elsewhere('streams which sessions change') },
  'get /whoami': { answers: KEYS },
  'get /keys': { answers: KEYS },
  'get /retention': { answers: SETTINGS },
  'get /audit': { answers: elsewhere('reads the audit log') },
  'get /quota': { answers: SETTINGS },
  'post /sessions': { answers: elsewhere('creates another session') },
  'post /sessions/{id}/messages': { answers: WRITES, body: MESSAGE },
  'post /sessions/{id}/messages/batch': { answers: WRITES, body: { messages: [MESSAGE] } },
  'post /sessions/{id}/messages/group': { answers: WRITES, body: { messages: [MESSAGE] } },
  'post /sessions/{id}/messages/replace-tail': { answers: WRITES, body: { last: [MESSAGE], messages: [MESSAGE] } },
  'put /sessions/{id}/messages/{mid}': { answers: WRITES_COMPARED, body: { message: MESSAGE, old: MESSAGE } },
  'put /sessions/{id}/entries': { answers: WRITES, body: { entries: [{ channel: 'c', key: 'k', value: 1 }] } },
  'patch /sessions/{id}': { answers: WRITES, body: { tags: ['a'] } },
  'patch /sessions/{id}/config': { answers: WRITES, body: { memory_extraction_config: {} } },
  'post /sessions/{id}/fork': { answers: WRITES },
  'post /sessions/{id}/snapshots': { answers: WRITES, body: { name: 'n' } },
  'post /sessions/{id}/revert': { answers: WRITES, body: { to: 'snap' } },
  'post /sessions/{id}/undo': { answers: WRITES },
  'post /sessions/{id}/shares': { answers: WRITES },
  'delete /sessions/{id}/shares/{sid}': { answers: WRITES },
  'post /sessions/{id}/usage': { answers: WRITES, body: { model: 'm', input_tokens: 1, output_tokens: 1 } },
  'post /sessions/{id}/used': { answers: WRITES, body: { contexts: ['c'] } },
  'post /sessions/{id}/commit': { answers: WRITES },
  'post /sessions/{id}/extract': { answers: WRITES },
  'delete /sessions/{id}/archives/{aid}/memories': { answers: WRITES },
  'post /tasks/{tid}/cancel': { answers: WRITES },
  'post /tasks/{tid}/retry': { answers: WRITES },
  'post /tasks/retry': { answers: elsewhere('begins tasks that failed, of which there are none') },
  'post /import': { answers: elsewhere('brings in another session'), query: '?from=openai&name=x.json', body: [MESSAGE] },
  'post /keys': { answers: KEYS },
  'delete /keys/{kid}': { answers: KEYS },
  'post /tokens': { answers: KEYS, body: { owner: 'kim' } },
  'delete /tokens/{token}': { answers: KEYS },
  'post /purge': { answers: SPACE },
  'post /expire': { answers: SPACE, body: { purge_deleted_after_seconds: 1 } },
  'put /retention': { answers: SETTINGS },
  'post /erase': {
    answers: READS_OWNER,
    body: { owner: 'nobody-has-this-name' },
    reports: (erased: { action: string }[]) => erased.some(({ action }) => action === 'failed'),
  },
  'delete /sessions/{id}/key': { answers: elsewhere('the store is not encrypted') },
  'put /quota': { answers: SETTINGS },
  'delete /sessions/{id}/messages/{mid}': { answers: WRITES_THE_LOST },
  'delete /sessions/{id}': { answers: WRITES },
  'post /sessions/{id}/restore': { answers: WRITES },
  'post /sessions/{id}/accept-damage': {
    answers: ACCEPTS,
    reports: ({ accepted }: { accepted: unknown[] }) => accepted.length > 0,
  },
}

export const ROUTE_NAMES = ROUTES.map(nameOf)
export const STATED_ROUTES = Object.keys(SPECS)

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`
}

/** In the order of the table here: what removes the session comes last. */
export const ROUTE_SURFACES: readonly Surface[] = STATED_ROUTES.map((name) => {
  const spec = SPECS[name] as RouteSpec
  const isReading = name.startsWith('get ') || spec.answers === LISTS
  const changing = spec.answers === ACCEPTS ? 'accepting' : 'writing'
  const on = /^\w+ \/search/.test(name) ? 'searching' : isReading ? 'reading' : changing
  return { name, answers: spec.answers, on, ask: (opened) => ask(opened, name, spec) }
})

async function ask(opened: Opened, name: string, { query = '', body, reports }: RouteSpec): Promise<Seen> {
  const [method = '', path = ''] = name.split(' ')
  const filled = path.replace(/\{(\w+)\}/g, (_, word) => encodeURIComponent(opened.named[word as keyof Opened['named']]))
  const hasBody = method !== 'get' && method !== 'delete'
  // The bytes of a file that is imported are its body.
  const type = name === 'post /import' ? 'application/octet-stream' : 'application/json'
  const response = await opened.fetch(`http://localhost${BASE}${filled}${query}`, {
    method: method.toUpperCase(),
    ...(hasBody ? { body: JSON.stringify(body ?? {}), headers: { 'content-type': type } } : {}),
  })
  if (response.headers.get('content-type')?.includes('event-stream')) {
    await response.body?.cancel()
    return { reported: false, refused: false }
  }
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text.startsWith('{"status"')
  const { result, error } = isJson ? JSON.parse(text) : { result: undefined, error: undefined }
  if (error !== undefined) return refusedWith(error.code)
  if (reports !== undefined) return { reported: reports(result as never), refused: false }
  return { reported: isReported(response.headers.get(DAMAGE_HEADER), result), refused: false }
}

/** Both must say it where there is room for both. The root of a tree has its own places only. */
function isReported(header: string | null, result: unknown): boolean {
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result)
  const field = isObject ? (result as { damage?: unknown[] }).damage : undefined
  if (isObject && (field === undefined) !== (header === null))
    throw new Error(`The header says ${header}, and the field ${JSON.stringify(field)}.`)
  return header !== null && Number(header) > 0
}
