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

type Opened = ReturnType<typeof EventStream.open>

/** Counts a stream for its key from before it is opened until it is closed, or until it could not be opened. */
async function admitted({ parts, principal }: Call, open: (opened: (stream: Opened) => Opened) => Promise<Response>): Promise<Response> {
  const release = parts.followers.admit(principal.id, { isOnly: principal.kind === 'nobody' })
  let isOpen = false
  try {
    return await open((opened) => {
      isOpen = true
      opened.stream.onClosed(release)
      return opened
    })
  } finally {
    if (!isOpen) release()
  }
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
    return admitted(call, async (opened) => {
      const session = await call.session()
      await session.info()
      const begin = await parts.followers.followSession(principal.space, session.id, lastId(call))
      const { stream, response } = opened(EventStream.open(c, {}))
      begin(stream)
      return response
    })
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
    return admitted(call, async (opened) => {
      const id = lastId(call)
      // One that cannot be read is as good as one that is too old.
      const after = id === undefined ? undefined : (decryptedCursor(principal.secret, id) ?? '')
      const { stream, response } = opened(EventStream.open(c, {}))
      const { space, owner } = principal
      void parts.followers
        .followSpace({ space, owner, stream, encryptCursor: (cursor) => encryptedCursor(principal.secret, cursor) }, after)
        .catch(() => stream.close())
      return response
    })
  },
})

export const eventRoutes: readonly Route[] = [ofSession, ofSpace]
