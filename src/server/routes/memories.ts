/** What is known of an owner, from all sessions. */
import { z } from '@hono/zod-openapi'
import { LIMITS } from '../../record/limits.ts'
import { memoryCodec } from '../../wire/tasks.ts'
import { type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { withoutUndefined } from '../without-undefined.ts'

const memories = route({
  method: 'get',
  path: '/memories',
  tag: 'memories',
  summary: 'What is known of an owner; of nobody in particular unless told. The newest first, with words the best.',
  scope: 'read',
  reach: 'own',
  query: z.object({
    owner: z.string().optional(),
    q: z.string().optional().openapi({ description: 'only those that match' }),
    limit: schemas.number({ max: LIMITS.pageSessions }).optional(),
  }),
  result: z.array(schemas.Memory),
  handle: async ({ store, principal, query }) => {
    const owner = principal.owner ?? query.owner ?? null
    return {
      result: (await store.memories({ owner, ...withoutUndefined({ query: query.q, limit: query.limit }) })).map(memoryCodec.encode),
    }
  },
})

export const memoryRoutes: readonly Route[] = [memories]
