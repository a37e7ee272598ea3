/** Full text over messages, titles, summaries and memories; and how much there is. */
import { z } from '@hono/zod-openapi'
import { LIMITS } from '../../record/limits.ts'
import type { SearchHit } from '../../store/search.ts'
import { sessionUri } from '../../wire/names.ts'
import { foundCodec, statsCodec } from '../../wire/search.ts'
import { type Answer, type Call, type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { withoutUndefined } from '../without-undefined.ts'

const KINDS = ['message', 'session', 'summary', 'memory'] as const
const kinds = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(KINDS)))
  .openapi({ type: 'string', description: `of ${KINDS.join(', ')}, with commas between` })

const search = route({
  method: 'get',
  path: '/search',
  tag: 'search',
  summary: 'Full text: words, "phrases", beginnings*; with snippets and where the hits stand in them.',
  scope: 'read',
  reach: 'own',
  query: z.object({
    q: z.string().min(1),
    kinds: kinds.optional(),
    session_id: z.string().optional(),
    role: z.enum(['system', 'user', 'assistant', 'tool']).optional(),
    tag: z.string().optional(),
    owner: z.string().optional(),
    from: schemas.instant.optional(),
    to: schemas.instant.optional(),
    archived: schemas.flag.optional().openapi({ description: 'only messages that an archive holds, or only live ones' }),
    limit: schemas.number({ max: LIMITS.pageHits }).optional(),
  }),
  readsMessages: true,
  result: schemas.Found,
  handle: async ({ store, principal, query }) => {
    const { q, kinds: wanted, session_id: session, role, tag, from, to, archived, limit } = query
    const owner = principal.owner ?? query.owner
    const found = await store.search(q, withoutUndefined({ kinds: wanted, session, role, tag, owner, from, to, archived, limit }))
    return { result: foundCodec.encode(found), damage: found.damage }
  },
})

const findBody = z.object({
  query: z.string(),
  session_id: z.string().nullable().optional(),
  limit: z.number().int().min(0).max(LIMITS.pageHits).nullable().optional(),
  node_limit: z.number().int().min(0).max(LIMITS.pageHits).nullable().optional(),
  score_threshold: z.number().nullable().optional(),
  context_type: z
    .union([z.string(), z.array(z.string())])
    .nullable()
    .optional(),
})

/** As OpenViking's clients find: memories, and past messages in the place of what else they know. */
async function find({ store, principal, body }: Call<unknown, z.output<typeof findBody>>): Promise<Answer> {
  const { query, session_id, score_threshold } = body
  const limit = body.node_limit ?? body.limit ?? 10
  const types = body.context_type == null ? ['memory', 'resource'] : [body.context_type].flat()
  const wanted = [...(types.includes('memory') ? (['memory'] as const) : []), ...(types.includes('resource') ? (['message'] as const) : [])]
  // Memories are of an owner: whoever asks for a session is told what is known of its owner, not of others.
  const isTold = session_id != null && principal.owner === null
  const owner = isTold ? ((await store.session(session_id).info()).owner ?? undefined) : (principal.owner ?? undefined)
  const isEmpty = query.trim() === '' || wanted.length === 0 || limit === 0
  const { hits, damage } = isEmpty
    ? { hits: [], damage: [] }
    : await store.search(query, { kinds: wanted, limit, ...withoutUndefined({ owner }) })
  const found = hits.map((hit) => contextOf(hit, principal.user)).filter(({ score }) => score >= (score_threshold ?? 0))
  const memories = found.filter(({ context_type }) => context_type === 'memory')
  const resources = found.filter(({ context_type }) => context_type === 'resource')
  return { result: { memories, resources, skills: [], total: found.length }, damage }
}

function contextOf(hit: SearchHit, user: string) {
  const { kind, session, archive, memory, message, snippet, score } = hit
  const place = kind === 'memory' ? `history/${archive}/memories/${memory}` : `messages/${message}`
  return {
    context_type: kind === 'memory' ? 'memory' : 'resource',
    uri: `${sessionUri(session, user)}/${place}`,
    level: 2,
    // Clients know scores from 0 to 1.
    score: score <= 0 ? 0 : score / (1 + score),
    category: kind === 'memory' ? 'memory' : 'message',
    match_reason: '',
    abstract: snippet,
    overview: null,
  }
}

const findRoute = (path: string, summary: string): Route =>
  route({
    method: 'post',
    path,
    tag: 'search',
    summary,
    scope: 'read',
    reach: 'own',
    body: findBody,
    readsMessages: true,
    result: schemas.FindResult,
    handle: find,
  })

const stats = route({
  method: 'get',
  path: '/stats',
  tag: 'stats',
  summary: 'How much there is in this space.',
  scope: 'read',
  reach: 'space',
  result: schemas.Stats,
  handle: async ({ store }) => ({ result: statsCodec.encode(await store.stats()) }),
})

export const searchRoutes: readonly Route[] = [
  search,
  findRoute('/search/find', 'Memories and past messages that match.'),
  findRoute('/search/search', 'Memories and past messages that match; of a session’s owner, if it is named.'),
  stats,
]
