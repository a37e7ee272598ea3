/** Sessions in and out as bytes: exports of one session, and imports of what is sent. No path of the server is ever read. */
import { z } from '@hono/zod-openapi'
import { HoldfastError } from '../../errors.ts'
import { LIMITS } from '../../record/limits.ts'
import type { DamagedPlace } from '../../store/damage/damage.ts'
import type { Store } from '../../store/store.ts'
import { bytesSources } from '../../transfer/bytes.ts'
import { EXPORT_FORMATS, type ExportOptions, exportFrom } from '../../transfer/export/export.ts'
import { importInto } from '../../transfer/import/import.ts'
import { type ImportedFields, ImportTotals, importedCodec } from '../../wire/imports.ts'
import { headerOf, readBytes } from '../body.ts'
import { damageHeader } from '../damage.ts'
import { SERVER_LIMITS } from '../limits.ts'
import { type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { withoutUndefined } from '../without-undefined.ts'

const TYPES = {
  jsonl: 'application/x-ndjson; charset=utf-8',
  markdown: 'text/markdown; charset=utf-8',
  html: 'text/html; charset=utf-8',
  openai: 'application/json; charset=utf-8',
  anthropic: 'application/json; charset=utf-8',
} as const satisfies Record<(typeof EXPORT_FORMATS)[number], string>

const flag = z.enum(['true', 'false']).transform((value) => value === 'true')

const exportQuery = z.object({ format: z.enum(EXPORT_FORMATS).default('jsonl'), redact: flag.optional() })

const exportSession = route({
  method: 'get',
  path: '/sessions/{id}/export',
  tag: 'transfer',
  summary: 'A session as text: jsonl has everything and can be imported again; the others are for people and other programs.',
  scope: 'read',
  reach: 'session',
  long: true,
  weight: 8,
  query: exportQuery.extend({ tree: flag.optional().openapi({ description: 'with its forks and children, and theirs' }) }),
  result: z.string(),
  handle: async (call) => {
    const { store, query } = call
    const session = await call.session()
    await session.info()
    const { format, redact, tree } = query
    return answer(format, await begin(store, { session: session.id, format, ...withoutUndefined({ redact, tree }) }))
  },
})

const exportAll = route({
  method: 'get',
  path: '/export',
  tag: 'transfer',
  summary: 'All sessions of the space as text, each behind the one that it comes from.',
  scope: 'read',
  reach: 'space',
  long: true,
  weight: 8,
  query: exportQuery,
  result: z.string(),
  readsMessages: true,
  handle: async ({ store, query: { format, redact } }) => answer(format, await begin(store, { format, ...withoutUndefined({ redact }) })),
})

interface Begun {
  readonly pieces: AsyncGenerator<string>
  readonly damage: readonly DamagedPlace[]
}

/**
 * Begins an export. The header is sent before the first byte, so the damage must be known by then: an export that is short is held until it
 * ends. Of a longer one the session is read twice; of the whole space, those sessions that are known to be damaged.
 */
async function begin(store: Store, options: ExportOptions): Promise<Begun> {
  const damage: DamagedPlace[] = []
  const onSession = (_: string, places: readonly DamagedPlace[]): void => void damage.push(...places)
  const pieces = exportFrom(store, { ...options, onSession })
  const held: string[] = []
  for (let size = 0; size < SERVER_LIMITS.heldExportCharacters; ) {
    const { done, value } = await pieces.next()
    if (done === true) return { pieces: rest(held, pieces), damage }
    held.push(value)
    size += value.length
  }
  return { pieces: rest(held, pieces), damage: await damageInExport(store, options) }
}

async function* rest(held: string[], pieces: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    for (let piece = held.shift(); piece !== undefined; piece = held.shift()) yield piece
    yield* pieces
  } finally {
    await pieces.return(undefined)
  }
}

async function damageInExport(store: Store, { session, tree }: ExportOptions): Promise<DamagedPlace[]> {
  const damage: DamagedPlace[] = []
  const onSession = (_: string, places: readonly DamagedPlace[]): void => void damage.push(...places)
  const damaged = async (): Promise<string[]> =>
    (await store.list({ status: 'damaged', limit: LIMITS.pageSessions })).sessions.map(({ id }) => id)
  for (const id of session === undefined ? await damaged() : [session]) {
    try {
      for await (const _ of exportFrom(store, { session: id, onSession, ...withoutUndefined({ tree }) }));
    } catch (error) {
      // Nothing of it can be read: the export of all sessions leaves it out.
      if (session !== undefined || !(error instanceof HoldfastError) || error.code !== 'DAMAGED') throw error
      damage.push({ position: 0, count: null, reason: error.details.reason === 'identity' ? 'identity' : 'vanished', session: id })
    }
  }
  return damage
}

function answer(format: keyof typeof TYPES, { pieces, damage }: Begun): Response {
  return new Response(streamOf(pieces), {
    headers: {
      ...damageHeader(damage),
      'content-type': TYPES[format],
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // A page that was made from what others said is shown by nobody's browser as one of this server's.
      'content-disposition': 'attachment',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    },
  })
}

/** As fast as it is read, and no faster. */
function streamOf(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel: async () => {
      await pieces.return(undefined)
    },
  })
}

const importBytes = route({
  method: 'post',
  path: '/import',
  tag: 'transfer',
  summary:
    'Brings in the sessions of one file, sent as the body: of any format that is known, plain or compressed, or a directory as a tar archive. Safe to repeat.',
  scope: 'write',
  reach: 'space',
  long: true,
  weight: 8,
  query: z.object({
    name: z.string().max(512).default('upload').openapi({ description: 'of the file: some formats tell by it which session it is' }),
    from: z.string().max(64).default('auto').openapi({ description: 'the format; told from the content unless named' }),
    dry_run: flag.default(false),
  }),
  result: z.object({ sessions: z.array(schemas.Imported), totals: schemas.ImportTotals, dry_run: z.boolean() }),
  handle: async ({ c, store, holding, query: { name, from, dry_run } }) => {
    const type = headerOf(c, 'content-type')
    // A page of somebody else can send a form or plain text without being asked.
    if (type === undefined || /^(?:text\/plain|multipart\/|application\/x-www-form-urlencoded)/i.test(type)) {
      throw new HoldfastError('INVALID_ARGUMENT', 'Send the bytes of the file as the body, with the content type application/octet-stream.')
    }
    const bytes = await readBytes(c, holding, SERVER_LIMITS.importBytes)
    const limits = { bytes: SERVER_LIMITS.importBytes, decompressedBytes: SERVER_LIMITS.importedBytes }
    const sessions: ImportedFields[] = []
    const totals = new ImportTotals()
    for await (const session of importInto(store, bytesSources(name, bytes, limits), { from, dryRun: dry_run })) {
      totals.add(session)
      sessions.push(importedCodec.encode(session))
    }
    if (totals.unknown > 0 && totals.unknown === totals.fields.sources)
      throw new HoldfastError('INVALID_ARGUMENT', 'This is of no format that is known. Name it with `from`, if it is one.')
    return { result: { sessions, totals: totals.fields, dry_run } }
  },
})

export const transferRoutes: readonly Route[] = [exportSession, exportAll, importBytes]
