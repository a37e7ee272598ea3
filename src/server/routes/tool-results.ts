/** The outputs of tools, by slice: they can be longer than a model, or a page, can take at once. They stand in the messages that brought them. */

import { z } from '@hono/zod-openapi'
import { HoldfastError } from '../../errors.ts'
import { countCodePoints, sliceCodePoints } from '../../message/code-points.ts'
import { asText, type ToolResult, viewOf } from '../../message/message.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import type { DamagedPlace } from '../../store/damage/damage.ts'
import type { Session } from '../../store/session.ts'
import { damageText, distinctPlaces } from '../../wire/damage.ts'
import { sessionUri } from '../../wire/names.ts'
import { SERVER_LIMITS } from '../limits.ts'
import { type Call, type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'

const OFFSET_UNIT = 'unicode_code_point'
const PREVIEW_CHARACTERS = 2000

interface Output {
  readonly id: string
  readonly name: string
  readonly text: string
}

/** The newest first, as many as the limit allows. Adds to `damage` what the pages lack. */
async function* outputsOf(session: Session<JsonObject>, damage: DamagedPlace[]): AsyncGenerator<Output> {
  const names = new Map<string, string>()
  const named = (results: readonly ToolResult[]): Output[] =>
    results.map(({ id, name, output }) => ({ id, name: name ?? names.get(id) ?? 'tool', text: asText(output) }))
  /** Of the page before: the calls of its first results are on this one. */
  let waiting: readonly ToolResult[] = []
  let before: string | undefined
  for (let seen = 0; seen < SERVER_LIMITS.toolResultMessages; ) {
    const where = before === undefined ? {} : { before }
    const page = await session.messages({ ...where, archived: true, limit: LIMITS.pageMessages })
    const { messages, more } = page
    damage.push(...page.damage)
    const found: ToolResult[] = []
    for (const { message } of messages) {
      const { calls, results } = viewOf(message)
      for (const { id, name } of calls) names.set(id, name)
      found.push(...results)
    }
    yield* named(waiting)
    waiting = found.reverse()
    seen += messages.length
    before = messages[0]?.id
    if (!more || before === undefined) break
  }
  yield* named(waiting)
}

async function outputOf(call: Call): Promise<Output & { readonly damage: readonly DamagedPlace[] }> {
  const id = call.param('rid')
  const damage: DamagedPlace[] = []
  for await (const output of outputsOf(await call.session(), damage)) {
    if (output.id === id) return { ...output, damage: distinctPlaces(damage) }
  }
  if (damage.length > 0) throw mayBeDamaged(id, distinctPlaces(damage))
  throw new HoldfastError('NOT_FOUND', 'There is no such tool result in this session.', {
    details: { reason: 'no tool result', tool_result_id: id },
  })
}

/** It may have been in one of the places that cannot be read: then it is not known that there is no such output. */
function mayBeDamaged(id: string, damage: readonly DamagedPlace[]): HoldfastError {
  const message = `The tool result "${id}" was not found, and ${damageText(damage)}. Run \`holdfast doctor\` to see where.`
  return new HoldfastError('DAMAGED', message, { details: { tool_result_id: id, reason: damage[0]?.reason } })
}

const list = route({
  method: 'get',
  path: '/sessions/{id}/tool-results',
  tag: 'tool results',
  summary: 'The outputs of tools in a session, the newest first.',
  scope: 'read',
  reach: 'session',
  query: z.object({ tool_name: z.string().optional(), limit: schemas.number({ max: LIMITS.pageMessages }).default(50) }),
  result: z.object({
    tool_results: z.array(
      z.object({
        tool_result_id: z.string(),
        tool_name: z.string(),
        original_chars: z.number().int(),
        preview_chars: z.number().int(),
        mime_type: z.string(),
        synopsis_kind: z.string(),
        storage_uri: z.string(),
        offset_unit: z.literal(OFFSET_UNIT),
      }),
    ),
  }),
  handle: async (call) => {
    const { tool_name, limit } = call.query
    const session = await call.session()
    const found: object[] = []
    const damage: DamagedPlace[] = []
    for await (const { id, name, text } of outputsOf(session, damage)) {
      if (tool_name !== undefined && name !== tool_name) continue
      if (found.length >= limit) break
      const characters = countCodePoints(text)
      found.push({
        tool_result_id: id,
        tool_name: name,
        original_chars: characters,
        preview_chars: Math.min(characters, PREVIEW_CHARACTERS),
        mime_type: 'text/plain',
        synopsis_kind: 'text',
        storage_uri: `${sessionUri(session.id, call.principal.user)}/tool-results/${id}`,
        offset_unit: OFFSET_UNIT,
      })
    }
    return { result: { tool_results: found }, damage: distinctPlaces(damage) }
  },
})

const read = route({
  method: 'get',
  path: '/sessions/{id}/tool-results/{rid}',
  tag: 'tool results',
  summary: 'A slice of the output of a tool.',
  scope: 'read',
  reach: 'session',
  query: z.object({
    offset: schemas.number().default(0),
    limit: schemas.number({ min: -1 }).default(20_000),
    include_metadata: schemas.flag.optional(),
  }),
  result: z.object({
    tool_result_id: z.string(),
    content: z.string(),
    offset: z.number().int(),
    limit: z.number().int(),
    offset_unit: z.literal(OFFSET_UNIT),
    total_chars: z.number().int(),
    has_more: z.boolean(),
    metadata: z.object({ tool_name: z.string(), mime_type: z.string() }).optional(),
  }),
  handle: async (call) => {
    const { offset, limit, include_metadata = true } = call.query
    const { id, name, text, damage } = await outputOf(call)
    const total = countCodePoints(text)
    const end = limit === -1 ? total : offset + limit
    return {
      result: {
        tool_result_id: id,
        content: sliceCodePoints(text, offset, end),
        offset,
        limit,
        offset_unit: OFFSET_UNIT,
        total_chars: total,
        has_more: end < total,
        ...(include_metadata ? { metadata: { tool_name: name, mime_type: 'text/plain' } } : {}),
      },
      damage,
    }
  },
})

const search = route({
  method: 'get',
  path: '/sessions/{id}/tool-results/{rid}/search',
  tag: 'tool results',
  summary: 'Where words stand in the output of a tool, with what is around them.',
  scope: 'read',
  reach: 'session',
  query: z.object({
    q: z.string().min(1),
    limit: schemas.number({ max: 1000 }).default(20),
    context_chars: schemas.number({ max: 10_000 }).default(300),
  }),
  result: z.object({
    tool_result_id: z.string(),
    matches: z.array(z.object({ offset: z.number().int(), offset_unit: z.literal(OFFSET_UNIT), snippet: z.string() })),
  }),
  handle: async (call) => {
    const { q, limit, context_chars } = call.query
    const { id, text, damage } = await outputOf(call)
    const [wanted, all] = [q.toLowerCase(), text.toLowerCase()]
    const matches: object[] = []
    let [offset, counted] = [0, 0]
    for (let at = all.indexOf(wanted); at !== -1 && matches.length < limit; at = all.indexOf(wanted, at + wanted.length)) {
      offset += countCodePoints(text, counted, at)
      counted = at
      const snippet = text.slice(Math.max(0, at - context_chars), at + q.length + context_chars).toWellFormed()
      matches.push({ offset, offset_unit: OFFSET_UNIT, snippet })
    }
    return { result: { tool_result_id: id, matches }, damage }
  },
})

export const toolResultRoutes: readonly Route[] = [list, read, search]
