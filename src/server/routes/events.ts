/** Streams of events. A stream that breaks goes on from `Last-Event-ID`; if that no longer fits, a `reset` says so. */
import { z } from '@hono/zod-openapi'
import { decryptedCursor, encryptedCursor } from '../cursors.ts'
import { EventStream } from '../event-stream.ts'
import { type Call, type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'

const query = z.object({
  after: z.string().optional().openapi({ description: 'the id of the last event, where Last-Event-ID cannot be sent' }),
})

function lastId({ c, query: { after } }: Call<z.output<typeof query>>): string | undefined {
  return c.req.header('last-event-id') || after
}

const ofSession = route({
  method: 'get',
  path: '/sessions/{id}/events',
  tag: 'events',
  summary: 'What happens to a session, as server-sent events: every record once, in order, whoever wrote it.',
  scope: 'read',
  reach: 'session',
  long: true,
  query,
  result: schemas.Change,
  handle: async (call) => {
    const { c, parts, principal } = call
    parts.followers.admit()
    const session = await call.session()
    await session.info()
    const begin = await parts.followers.followSession(principal.space, session.id, lastId(call))
    const { stream, response } = EventStream.open(c, {})
    begin(stream)
    return response
  },
})

const ofSpace = route({
  method: 'get',
  path: '/events',
  tag: 'events',
  summary: 'Which sessions change, as server-sent events: each tells what the session is now.',
  scope: 'read',
  reach: 'own',
  long: true,
  query,
  result: schemas.Session,
  handle: async (call) => {
    const { c, parts, principal } = call
    parts.followers.admit()
    const id = lastId(call)
    // One that cannot be read is as good as one that is too old.
    const after = id === undefined ? undefined : (decryptedCursor(principal.secret, id) ?? '')
    const { stream, response } = EventStream.open(c, {})
    const { space, owner } = principal
    void parts.followers
      .followSpace({ space, owner, stream, encryptCursor: (cursor) => encryptedCursor(principal.secret, cursor) }, after)
      .catch(() => stream.close())
    return response
  },
})

export const eventRoutes: readonly Route[] = [ofSession, ofSpace]
