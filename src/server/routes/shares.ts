/** Shares: links that let whoever has them read a session as it was. */

import { z } from '@hono/zod-openapi'
import { HoldfastError } from '../../errors.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import { sharedSessionCodec } from '../../wire/messages.ts'
import { writtenCodec } from '../../wire/operations.ts'
import { newShareCodec, shareCodec } from '../../wire/sessions.ts'
import { derivedSecret } from '../api-keys.ts'
import { addressOf } from '../authenticate.ts'
import { type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { withoutUndefined } from '../without-undefined.ts'

/** A share is not to be found, nor to be told by the pages that it links to. */
export const UNLISTED = { 'x-robots-tag': 'noindex, nofollow', 'referrer-policy': 'no-referrer' }

const grant = route({
  method: 'post',
  path: '/sessions/{id}/shares',
  tag: 'shares',
  summary: 'Lets whoever has the token read the session as it is now. The token is told this once.',
  scope: 'write',
  reach: 'session',
  auditsFirst: true,
  body: z.object({ expires_at: z.iso.datetime({ offset: true }).nullable().optional(), redact: z.boolean().optional() }),
  result: schemas.Shared,
  handle: async (call) => {
    const { write, principal, body } = call
    const expiresAt = body.expires_at == null ? undefined : new Date(body.expires_at)
    const session = await call.session()
    // A call that is repeated has to be answered with the same token, which only who holds the key could compute.
    const token = write.key === undefined ? undefined : derivedSecret(principal.secret, 'share', principal.space, session.id, write.key)
    const shared = await session.share({ ...write, ...withoutUndefined({ expiresAt, token, redact: body.redact }) })
    return {
      result: newShareCodec.encode({ session: session.id, ...shared, expiresAt: expiresAt?.toISOString() ?? null }),
      version: shared.version,
    }
  },
})

const list = route({
  method: 'get',
  path: '/sessions/{id}/shares',
  tag: 'shares',
  summary: 'The shares of a session.',
  scope: 'read',
  reach: 'session',
  result: schemas.Shares,
  handle: async (call) => {
    const { shares, version } = await (await call.session()).info()
    return { result: shares.map(shareCodec.encode), version }
  },
})

const revoke = route({
  method: 'delete',
  path: '/sessions/{id}/shares/{sid}',
  tag: 'shares',
  summary: 'Revokes a share.',
  scope: 'write',
  reach: 'session',
  auditsFirst: true,
  result: schemas.Written,
  handle: async (call) => {
    const session = await call.session()
    const written = await session.unshare(call.param('sid'), call.write)
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const open = route({
  method: 'get',
  path: '/shared/{token}',
  tag: 'shares',
  summary: 'What the holder of a share’s token sees. Needs no key.',
  scope: 'anyone',
  reach: 'space',
  callers: ['share-token'],
  query: z.object({
    limit: schemas.number({ max: LIMITS.pageMessages }).optional(),
    before: z.string().optional(),
    after: z.string().optional(),
    depth: schemas.number({ min: 1 }).optional(),
    from: z.enum(['start', 'end']).optional(),
  }),
  readsMessages: true,
  result: schemas.SharedSession,
  handle: async ({ c, parts, query, param }) => {
    const reading = parts.store.shared<JsonObject>(param('token'), withoutUndefined({ from: 'start', ...withoutUndefined(query) }))
    const { title, grantedAt, expiresAt, messageCount, page, of } = await reading.catch((error: unknown) => {
      // Only attempts that fail count: behind a proxy all readers have one address.
      if (error instanceof HoldfastError && error.code === 'NOT_FOUND') parts.attempts.spend(addressOf(c))
      throw error
    })
    if (of !== undefined) {
      const deed = { key: `share ${of.share}`, space: of.space, session: of.session, action: 'GET /shared/{token}', status: 200 }
      parts.audit.count({ ...deed, request: '' })
    }
    const { messages, more } = page
    const result = sharedSessionCodec.encode({ title, grantedAt, expiresAt, messageCount, messages, more })
    return { result, headers: UNLISTED, damage: page.damage.map(({ session: _, ...place }) => place) }
  },
})

export const shareRoutes: readonly Route[] = [grant, list, revoke, open]
