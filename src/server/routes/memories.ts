/** What is known of an owner, from all sessions. */
import { z } from '@hono/zod-openapi'
import { memoryFields } from '../../wire/tasks.ts'
import { type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'

const memories = route({
  method: 'get',
  path: '/memories',
  tag: 'memories',
  summary: 'What is known of an owner; of nobody in particular unless told. The newest first.',
  scope: 'read',
  reach: 'own',
  query: z.object({ owner: z.string().optional() }),
  result: z.array(schemas.Memory),
  handle: async ({ store, principal, query }) => {
    const owner = principal.owner ?? query.owner ?? null
    return { result: (await store.memories({ owner })).map(memoryFields) }
  },
})

export const memoryRoutes: readonly Route[] = [memories]
