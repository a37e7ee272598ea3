/** Messages: appended, read, given other content; and the entries beside them. Appending is what is done most, so its body is checked by hand. */
import { z } from '@hono/zod-openapi'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import { invalid } from '../../session/check.ts'
import type { Entry } from '../../session/records.ts'
import { noMessage } from '../../session/refusals.ts'
import type { DamagedPlace } from '../../store/damage/damage.ts'
import { appendedCodec, batchCodec, messageRecordCodec, pageCodec, storedMessageCodec } from '../../wire/messages.ts'
import { entryCodec, writtenCodec } from '../../wire/operations.ts'
import { SERVER_LIMITS } from '../limits.ts'
import { nextPage } from '../next-page.ts'
import { type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { anyObject } from '../wire-schema.ts'
import { withoutUndefined } from '../without-undefined.ts'

/** A message as clients send it: somebody says something. Whatever else stands in it is kept. */
function checkMessage(message: unknown): JsonObject {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) throw invalid('A message must be an object.')
  const { role, type } = message as JsonObject
  if (typeof role !== 'string' && typeof type !== 'string') throw invalid('A message needs a "role", such as "user" or "assistant".')
  for (const field in message) if (field !== 'role' && field !== 'id' && field !== 'created_at') return message as JsonObject
  throw invalid('Either "content" or "parts" must be given.')
}

function checkBatch(body: unknown): { messages: JsonObject[]; ids?: string[] } {
  const { messages, ids } = (typeof body === 'object' && body !== null ? body : {}) as { messages?: unknown; ids?: unknown }
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > SERVER_LIMITS.batchMessages) {
    throw invalid(`"messages" must be an array of 1 to ${SERVER_LIMITS.batchMessages} messages.`)
  }
  if (ids !== undefined && !Array.isArray(ids)) throw invalid('"ids" must be an array.')
  // Null where a message has no id beside it; the store checks the others.
  const given = ids?.map((id) => id ?? undefined)
  return { messages: messages.map(checkMessage), ...(given === undefined ? {} : { ids: given }) }
}

const pageQuery = z.object({ limit: schemas.number({ max: LIMITS.pageMessages }).optional(), cursor: z.string().optional() })

function countOf(body: unknown): number {
  return (body as { readonly messages: readonly unknown[] }).messages.length
}

const parent = z.string().optional().openapi({ description: 'the message that this one follows; the last one unless told' })

const append = route({
  method: 'post',
  path: '/sessions/{id}/messages',
  tag: 'messages',
  summary: 'Appends a message; on the disk when it is answered. Creates a missing session, but never revives a deleted one.',
  scope: 'write',
  reach: 'session',
  query: z.object({ parent, message_id: z.string().optional().openapi({ description: 'its id, where it has none of its own' }) }),
  body: schemas.Message,
  checkBody: checkMessage,
  messages: () => 1,
  result: schemas.Appended,
  handle: async (call) => {
    const session = await call.session({ creates: true })
    const { parent: after, message_id } = call.query
    const isPlain = after === undefined && message_id === undefined
    const ids = message_id === undefined ? undefined : [message_id]
    const appended = await session.append(call.body, isPlain ? call.write : { ...call.write, ...withoutUndefined({ parent: after, ids }) })
    if (!appended.duplicate) call.parts.metrics.messages.inc()
    return { result: appendedCodec.encode({ session: session.id, ...appended }), version: appended.version }
  },
})

const appendBatch = route({
  method: 'post',
  path: '/sessions/{id}/messages/batch',
  tag: 'messages',
  summary: 'Appends up to 100 messages, all of them or none.',
  scope: 'write',
  reach: 'session',
  query: z.object({ parent }),
  body: z.object({
    messages: z.array(schemas.Message).min(1).max(SERVER_LIMITS.batchMessages),
    ids: z.array(z.string().nullable()).optional().openapi({ description: 'ids of messages that have none of their own' }),
  }),
  checkBody: checkBatch,
  messages: countOf,
  result: schemas.AppendedBatch,
  handle: async (call) => {
    const session = await call.session({ creates: true })
    const { messages, ids } = call.body as ReturnType<typeof checkBatch>
    const appended = await session.append(messages, { ...call.write, ...withoutUndefined({ ...call.query, ids }) })
    if (!appended.duplicate) call.parts.metrics.messages.inc(appended.ids.length)
    return { result: batchCodec.encode({ session: session.id, ...appended }), version: appended.version }
  },
})

/** Messages with what else goes into their record. There is no limit but that of a record. */
function checkGroup(body: unknown): { messages: JsonObject[]; ids?: (string | undefined)[] | 'new' } {
  const { messages, ids, ...rest } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  if (!Array.isArray(messages)) throw invalid('"messages" must be an array.')
  if (ids !== undefined && ids !== 'new' && !Array.isArray(ids)) throw invalid('"ids" must be an array, or "new".')
  const given = ids === 'new' ? ids : (ids as (string | null)[] | undefined)?.map((id) => id ?? undefined)
  return { ...rest, messages: messages.map(checkMessage), ...(given === undefined ? {} : { ids: given }) }
}

const ids = z
  .union([z.array(z.string().nullable()), z.literal('new')])
  .optional()
  .openapi({ description: 'ids of messages that have none of their own; "new": made for all of them' })
const entryList = z.array(z.object({ channel: z.string(), key: z.string(), value: z.unknown().optional() }))

const appendGroup = route({
  method: 'post',
  path: '/sessions/{id}/messages/group',
  tag: 'messages',
  summary: 'Appends messages together with data beside them, all or none.',
  scope: 'write',
  reach: 'session',
  body: z.object({
    messages: z.array(schemas.Message).min(1),
    ids,
    parent: z.string().nullable().optional().openapi({ description: 'the message that these follow; null for none' }),
    entries: entryList.optional(),
  }),
  checkBody: checkGroup,
  messages: countOf,
  result: schemas.AppendedBatch,
  handle: async (call) => {
    const session = await call.session({ creates: true })
    const { messages, ids: wanted, parent: after, entries: beside } = call.body as ReturnType<typeof checkGroup> & GroupFields
    const appended = await session.append(messages, { ...call.write, ...withoutUndefined({ ids: wanted, parent: after, entries: beside }) })
    if (!appended.duplicate) call.parts.metrics.messages.inc(appended.ids.length)
    return { result: batchCodec.encode({ session: session.id, ...appended }), version: appended.version }
  },
})

interface GroupFields {
  readonly parent?: string | null
  readonly entries?: readonly Entry[]
  readonly last?: readonly JsonObject[]
}

const replaceTail = route({
  method: 'post',
  path: '/sessions/{id}/messages/replace-tail',
  tag: 'messages',
  summary: 'Puts messages in place of the last ones, if those are still what the caller saw. Nothing is destroyed, and undo returns.',
  scope: 'write',
  reach: 'session',
  body: z.object({
    last: z.array(schemas.Message).openapi({ description: 'what the last messages must be' }),
    messages: z.array(schemas.Message),
    ids,
  }),
  checkBody: checkGroup,
  result: schemas.Written,
  handle: async (call) => {
    const { messages, ids: wanted, last } = call.body as ReturnType<typeof checkGroup> & GroupFields
    if (!Array.isArray(last)) throw invalid('"last" must be an array.')
    const session = await call.session(last.length === 0 ? { creates: true } : {})
    const written = await session.replaceTail(last, messages, { ...call.write, ...withoutUndefined({ ids: wanted }) })
    if (!written.duplicate) call.parts.metrics.messages.inc(messages.length)
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const list = route({
  method: 'get',
  path: '/sessions/{id}/messages',
  tag: 'messages',
  summary: 'A page of messages, oldest first: the newest live ones unless told.',
  scope: 'read',
  reach: 'session',
  query: z.object({
    limit: schemas.number({ max: LIMITS.pageMessages }).optional(),
    before: z.string().optional(),
    after: z.string().optional(),
    depth: schemas.number({ min: 1 }).optional().openapi({ description: 'begins with the message that has this place on the branch' }),
    from: z.enum(['start', 'end']).optional(),
    archived: z.enum(['include']).optional().openapi({ description: 'also those that archives hold' }),
    branch: z.string().optional().openapi({ description: 'of the branch that ends with this message' }),
  }),
  result: schemas.Page,
  handle: async (call) => {
    const { archived, ...query } = call.query
    const session = await call.session()
    const version = await session.version()
    const page = await session.messages(withoutUndefined({ ...query, archived: archived === 'include' ? true : undefined }))
    return { result: pageCodec.encode(page), version, damage: page.damage }
  },
})

const show = route({
  method: 'get',
  path: '/sessions/{id}/messages/{mid}',
  tag: 'messages',
  summary: 'One message, on whatever branch.',
  scope: 'read',
  reach: 'session',
  result: schemas.StoredMessage,
  handle: async (call) => {
    const message = await (await call.session()).message(call.param('mid'))
    if (message === undefined) throw noMessage(call.param('mid'))
    return { result: storedMessageCodec.encode(message), damage: message.damage ?? [] }
  },
})

const record = route({
  method: 'get',
  path: '/sessions/{id}/messages/{mid}/record',
  tag: 'messages',
  summary: 'The record that holds a message, as it stands in the journal.',
  scope: 'read',
  reach: 'session',
  result: schemas.MessageRecord,
  handle: async (call) => {
    const found = await (await call.session()).record(call.param('mid'))
    if (found === undefined) throw noMessage(call.param('mid'))
    return { result: messageRecordCodec.encode(found) }
  },
})

const revisions = route({
  method: 'get',
  path: '/sessions/{id}/messages/{mid}/revisions',
  tag: 'messages',
  summary: 'The contents that a message has had, the first one first: the newest ones, or those before a cursor.',
  scope: 'read',
  reach: 'session',
  query: pageQuery,
  result: z.array(schemas.StoredMessage),
  handle: async (call) => {
    const page = await (await call.session()).revisions(call.param('mid'), withoutUndefined(call.query))
    if (page.revisions.length === 0) throw noMessage(call.param('mid'))
    const headers = page.cursor === null ? {} : nextPage(call.c.req.url, page.cursor)
    return { result: page.revisions.map(storedMessageCodec.encode), headers, damage: damageOf(page.revisions) }
  },
})

const replace = route({
  method: 'put',
  path: '/sessions/{id}/messages/{mid}',
  tag: 'messages',
  summary: 'Gives a message other content. What it was stays readable.',
  scope: 'write',
  reach: 'session',
  body: z.object({
    message: anyObject,
    old: anyObject.optional().openapi({ description: 'refused unless this is still its content' }),
  }),
  result: schemas.Written,
  handle: async (call) => {
    const { message, old } = call.body
    const session = await call.session()
    const written = await session.replace(call.param('mid'), message as JsonObject, {
      ...call.write,
      ...withoutUndefined({ old: old as JsonObject | undefined }),
    })
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const erase = route({
  method: 'delete',
  path: '/sessions/{id}/messages/{mid}',
  tag: 'messages',
  summary: 'Erases a message for good, with everything that was made from it, here and in all forks. Its place stays, with a marker.',
  scope: 'write',
  reach: 'session',
  auditsFirst: true,
  result: schemas.Written,
  handle: async (call) => {
    const session = await call.session()
    // Who was let into one session only takes nothing out of another.
    const written = await session.erase(call.param('mid'), { ...call.write, here: call.principal.session !== null })
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const entries = route({
  method: 'get',
  path: '/sessions/{id}/entries',
  tag: 'entries',
  summary: 'Data beside the messages: of one channel, the newest first, or one by its key.',
  scope: 'read',
  reach: 'session',
  query: pageQuery.extend({ channel: z.string(), key: z.string().optional() }),
  result: z.array(schemas.Entry),
  handle: async (call) => {
    const { channel, key, ...wanted } = call.query
    const session = await call.session()
    if (key !== undefined) {
      const entry = await session.entry(channel, key)
      return { result: entry === undefined ? [] : [entryCodec.encode(entry)], damage: entry?.damage ?? [] }
    }
    const page = await session.entryPage(channel, withoutUndefined(wanted))
    const headers = page.cursor === null ? {} : nextPage(call.c.req.url, page.cursor)
    return { result: page.entries.map(entryCodec.encode), headers, damage: damageOf(page.entries) }
  },
})

const putEntries = route({
  method: 'put',
  path: '/sessions/{id}/entries',
  tag: 'entries',
  summary: 'Puts data beside the messages, all entries or none. One without a value is removed.',
  scope: 'write',
  reach: 'session',
  body: z.object({ entries: entryList }),
  result: schemas.Written,
  handle: async (call) => {
    const session = await call.session({ creates: true })
    const written = await session.putEntries(call.body.entries as Entry[], call.write)
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

/** What the header counts: all that the parts of a list report. */
function damageOf(list: readonly { readonly damage?: readonly DamagedPlace[] }[]): readonly DamagedPlace[] {
  return list.flatMap(({ damage = [] }) => damage)
}

export const messageRoutes: readonly Route[] = [
  append,
  appendBatch,
  appendGroup,
  replaceTail,
  list,
  show,
  record,
  revisions,
  replace,
  erase,
  entries,
  putEntries,
]
