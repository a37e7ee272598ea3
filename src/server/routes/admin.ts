/** What an operator of a space does: keys and tokens, purging, verifying. */
import { hash } from 'node:crypto'
import { z } from '@hono/zod-openapi'
import { doctor as examine } from '../../doctor/doctor.ts'
import { HoldfastError } from '../../errors.ts'
import type { RetentionPolicy } from '../../store/lifecycle/retention-policy.ts'
import type { Store } from '../../store/store.ts'
import { auditCodec, callerCodec, keyCodec, newKeyCodec, tokenCodec } from '../../wire/access.ts'
import type { WireOf } from '../../wire/codec.ts'
import { erasedCodec, expiredCodec, findingCodec, purgedCodec, quotaCodec, quotaUsageCodec, retentionCodec } from '../../wire/operations.ts'
import { derivedSecret } from '../api-keys.ts'
import { type AuditEntry, readAudit } from '../audit.ts'
import { otherOwner } from '../callers.ts'
import { partialFailure } from '../envelope.ts'
import { SERVER_LIMITS } from '../limits.ts'
import { nextPage } from '../next-page.ts'
import type { ServerParts } from '../parts.ts'
import { type Principal, requireScope, SCOPES } from '../principal.ts'
import { type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { schemaOf } from '../wire-schema.ts'
import { withoutUndefined } from '../without-undefined.ts'

const AUDIT_ENTRIES = 10_000
const time = z.iso.datetime({ offset: true })

const whoami = route({
  method: 'get',
  path: '/whoami',
  tag: 'admin',
  summary: 'Whom the server takes the caller for, and what he may.',
  scope: 'read',
  reach: 'task',
  result: schemaOf(callerCodec),
  handle: async ({ parts, principal }) => ({
    result: callerCodec.encode({ ...principal, key: principal.id, serverVersion: parts.version, encrypted: parts.store.isEncrypted }),
  }),
})

const createKey = route({
  method: 'post',
  path: '/keys',
  tag: 'admin',
  summary: 'Makes a key for this space, and tells it this once. With `replaces`, the other one goes on being good for a while.',
  scope: 'admin',
  reach: 'space',
  auditsFirst: true,
  body: z.object({
    scope: z.enum(SCOPES).default('write'),
    owner: z.string().optional().openapi({ description: 'it sees and makes only sessions of this owner' }),
    name: z.string().optional(),
    expires_at: time.optional(),
    replaces: z.string().optional(),
    overlap_seconds: z
      .number()
      .int()
      .min(0)
      .max(30 * 86_400)
      .default(86_400),
  }),
  result: schemaOf(newKeyCodec),
  handle: async ({ parts, principal, body, write }) => {
    const { scope, owner, name, expires_at, replaces, overlap_seconds } = body
    const repeatable =
      write.key === undefined
        ? undefined
        : { secret: derivedSecret(principal.secret, 'key', principal.space, write.key), asked: hash('sha256', JSON.stringify(body), 'hex') }
    const { key, record } = await parts.keys.create({
      space: principal.space,
      scope,
      overlapMs: overlap_seconds * 1000,
      ...withoutUndefined({ owner, name, replaces, repeatable, expiresAt: expires_at === undefined ? undefined : new Date(expires_at) }),
    })
    return { result: newKeyCodec.encode({ ...record, key }) }
  },
})

const listKeys = route({
  method: 'get',
  path: '/keys',
  tag: 'admin',
  summary: 'The keys of this space, without what opens.',
  scope: 'admin',
  reach: 'space',
  result: z.array(schemaOf(keyCodec)),
  handle: async ({ parts, principal }) => ({ result: (await parts.keys.list(principal.space)).map(keyCodec.encode) }),
})

const revokeKey = route({
  method: 'delete',
  path: '/keys/{kid}',
  tag: 'admin',
  summary: 'Revokes a key of this space, and every token that was made from it.',
  scope: 'admin',
  reach: 'space',
  auditsFirst: true,
  result: schemaOf(keyCodec),
  handle: async ({ parts, principal, param }) => ({ result: keyCodec.encode(await parts.keys.revoke(param('kid'), principal.space)) }),
})

const createToken = route({
  method: 'post',
  path: '/tokens',
  tag: 'admin',
  summary: 'A token that lives for minutes and opens one session, or the sessions of one owner: for a browser, which must not hold a key.',
  scope: 'read',
  reach: 'own',
  callers: ['key', 'owner-key'],
  auditsFirst: true,
  body: z.object({
    session_id: z.string().optional(),
    owner: z.string().optional(),
    scope: z.enum(['read', 'write']).default('read'),
    expires_in: z.number().int().min(1).max(SERVER_LIMITS.tokenSeconds).default(SERVER_LIMITS.tokenDefaultSeconds),
  }),
  result: schemaOf(tokenCodec),
  handle: async ({ parts, principal, body, store }) => {
    const { session_id, owner, scope, expires_in } = body
    requireScope(principal, scope)
    if (principal.owner !== null && owner !== undefined && owner !== principal.owner) {
      throw otherOwner()
    }
    if (session_id === undefined && owner === undefined) {
      throw new HoldfastError('INVALID_ARGUMENT', 'Name what the token opens: a "session_id", an "owner", or both.')
    }
    const expires = store.parts.clock.now() + expires_in * 1000
    const { token, claims } = parts.keys.issue(
      { digest: principal.secret },
      { key: principal.id, space: principal.space, scope, owner: owner ?? principal.owner, session: session_id ?? null, expires },
    )
    return { result: tokenCodec.encode({ ...claims, token, scope, expiresAt: new Date(expires).toISOString() }) }
  },
})

const revokeToken = route({
  method: 'delete',
  path: '/tokens/{token}',
  tag: 'admin',
  summary: 'Revokes a token of this space before its time, by the token itself.',
  scope: 'write',
  reach: 'own',
  auditsFirst: true,
  result: z.object({ token_id: z.string() }),
  handle: async ({ parts, principal, param }) => {
    const verified = await parts.keys.verify(param('token'))
    if (verified === undefined || verified.claims.space !== principal.space) {
      throw new HoldfastError('NOT_FOUND', 'There is no such token: it has expired, it was revoked, or it never existed.', {
        details: { reason: 'no token' },
      })
    }
    await parts.keys.revokeToken(verified.claims.id)
    return { result: { token_id: verified.claims.id } }
  },
})

const purge = route({
  method: 'post',
  path: '/purge',
  tag: 'admin',
  summary: 'Destroys what was deleted long ago, but for what a fork still reaches.',
  scope: 'admin',
  reach: 'space',
  auditsFirst: true,
  long: true,
  weight: 8,
  body: z.object({
    older_than_seconds: z
      .number()
      .min(0)
      .default(30 * 86_400),
    dry_run: z.boolean().default(false),
  }),
  result: z.array(schemaOf(purgedCodec)),
  handle: async ({ store, body: { older_than_seconds, dry_run: dryRun } }) => ({
    result: await all(store.purge({ olderThanMs: older_than_seconds * 1000, dryRun }), (purged) =>
      purgedCodec.encode({ ...purged, dryRun }),
    ),
  }),
})

const seconds = z.number().min(0).nullable().optional()
/** Null would be no time, after which the policy of the space counts, and not "for ever" as in that policy. */
const afterSeconds = z.number('a number of seconds; left out: none is told').min(0).optional()

const expire = route({
  method: 'post',
  path: '/expire',
  tag: 'admin',
  summary:
    'Deletes what was idle for long enough, erases the messages of archives that are old enough, and purges what was deleted for long enough: after the times given, else after those of the space.',
  scope: 'admin',
  reach: 'space',
  auditsFirst: true,
  long: true,
  weight: 8,
  body: z.object({
    delete_idle_after_seconds: afterSeconds,
    drop_archives_after_seconds: afterSeconds,
    purge_deleted_after_seconds: afterSeconds,
    dry_run: z.boolean().default(false),
  }),
  result: z.array(schemaOf(expiredCodec)),
  handle: async ({ store, body: { dry_run: dryRun, ...times } }) => ({
    result: await all(store.expire({ ...policyOf(times), dryRun }), (expired) => expiredCodec.encode({ ...expired, dryRun })),
  }),
})

const retention = schemaOf(retentionCodec)

/** A time that is not given is none. */
function policyOf(times: { readonly [K in keyof WireOf<typeof retentionCodec>]?: number | null | undefined }): RetentionPolicy {
  return retentionCodec.decode({ ...retentionCodec.encode({}), ...withoutUndefined(times) })
}

const getRetention = route({
  method: 'get',
  path: '/retention',
  tag: 'admin',
  summary: 'How long this space keeps things, where `POST /expire` is told no time.',
  scope: 'admin',
  reach: 'space',
  result: retention,
  handle: async ({ store }) => ({ result: retentionCodec.encode(await store.retention()) }),
})

const putRetention = route({
  method: 'put',
  path: '/retention',
  tag: 'admin',
  summary: 'Says how long this space keeps things; null for ever. Nothing happens before `POST /expire`.',
  scope: 'admin',
  reach: 'space',
  auditsFirst: true,
  body: z.object({ delete_idle_after_seconds: seconds, drop_archives_after_seconds: seconds, purge_deleted_after_seconds: seconds }),
  result: retention,
  handle: async ({ store, body }) => ({ result: retentionCodec.encode(await store.setRetention(policyOf(body))) }),
})

const erase = route({
  method: 'post',
  path: '/erase',
  tag: 'admin',
  summary: 'Destroys everything of an owner, deleted or not. What a session of somebody else reaches is erased message by message.',
  scope: 'admin',
  reach: 'space',
  auditsFirst: true,
  long: true,
  weight: 8,
  body: z.object({ owner: z.string(), dry_run: z.boolean().default(false) }),
  result: z.array(schemaOf(erasedCodec)),
  handle: async ({ store, body: { owner, dry_run: dryRun } }) => ({
    result: await all(store.erase({ owner, dryRun }), ({ error, ...erased }) =>
      erasedCodec.encode({ ...erased, dryRun, ...(error === undefined ? {} : { error: partialFailure(error) }) }),
    ),
  }),
})

const quota = schemaOf(quotaUsageCodec)

const destroyKey = route({
  method: 'delete',
  path: '/sessions/{id}/key',
  tag: 'admin',
  summary: 'Of an encrypted store: destroys the key of a session, which nobody can read from then on, here or in a backup.',
  scope: 'admin',
  reach: 'session',
  auditsFirst: true,
  result: z.object({ session_id: z.string(), destroyed: z.boolean() }),
  handle: async ({ store, param }) => {
    const session = param('id')
    if (await store.destroyKey(session)) return { result: { session_id: session, destroyed: true } }
    throw new HoldfastError('NOT_FOUND', 'There is no such session, or it has no key.', {
      details: { reason: 'no session key', session_id: session },
    })
  },
})

const audit = route({
  method: 'get',
  path: '/audit',
  tag: 'admin',
  summary:
    'Who did what in this space, in the order in which it was written down; the last day unless told. Never what was said. The cursor of the next page stands in X-Next-Cursor and in Link.',
  scope: 'admin',
  reach: 'space',
  query: z.object({
    from: time.optional(),
    to: time.optional(),
    limit: schemas.number({ min: 1, max: AUDIT_ENTRIES }).default(1000),
    cursor: z.string().optional(),
    order: z.enum(['oldest', 'newest']).default('oldest'),
  }),
  result: z.array(schemaOf(auditCodec)),
  handle: async ({ c, parts, principal, query: { from, to, limit, cursor, order } }) => {
    await parts.audit.flush()
    const end = to === undefined ? new Date(parts.store.parts.clock.now()) : new Date(to)
    const begin = from === undefined ? new Date(end.getTime() - 86_400_000) : new Date(from)
    const wanted = { from: begin, to: end, space: principal.space, order, ...withoutUndefined({ after: cursor }) }
    const entries: AuditEntry[] = []
    for await (const entry of readAudit(parts.store, wanted)) if (entries.push(entry) === limit) break
    const last = entries.length === limit ? entries.at(-1)?.place : undefined
    return { result: entries.map(auditCodec.encode), headers: last === undefined ? {} : nextPage(c.req.url, last) }
  },
})

const quotaLimit = z.number().int().min(0).nullable().optional()

const getQuota = route({
  method: 'get',
  path: '/quota',
  tag: 'admin',
  summary: 'How much this space, or one of its keys, may hold and add, and how much of that is used.',
  scope: 'admin',
  reach: 'space',
  query: z.object({ key_id: z.string().optional() }),
  result: quota,
  handle: async ({ parts, principal, store, query: { key_id } }) => ({
    result: await quotaWithUsage(store, await ownKey(parts, principal, key_id)),
  }),
})

const putQuota = route({
  method: 'put',
  path: '/quota',
  tag: 'admin',
  summary: 'Says how much this space may hold and add, or how much one of its keys may add; null for no limit.',
  scope: 'admin',
  reach: 'space',
  auditsFirst: true,
  body: z.object({ sessions: quotaLimit, bytes: quotaLimit, messages_per_minute: quotaLimit, key_id: z.string().optional() }),
  result: quota,
  handle: async ({ parts, principal, store, body: { key_id, sessions = null, bytes = null, messages_per_minute = null } }) => {
    const of = await ownKey(parts, principal, key_id)
    await store.setQuota(quotaCodec.decode({ sessions, bytes, messages_per_minute }), of)
    return { result: await quotaWithUsage(store, of) }
  },
})

async function quotaWithUsage(store: Store, of: { readonly key?: string }): Promise<WireOf<typeof quotaUsageCodec>> {
  return quotaUsageCodec.encode({ ...(await store.quota(of)), used: await store.quotaUsage(of) })
}

/** A key of the caller's own space. */
async function ownKey({ keys }: ServerParts, { space }: Principal, key: string | undefined): Promise<{ key?: string }> {
  if (key === undefined) return {}
  if ((await keys.list(space)).some(({ id }) => id === key)) return { key }
  throw new HoldfastError('NOT_FOUND', `There is no key "${key}".`, { details: { reason: 'no API key', key_id: key } })
}

const doctor = route({
  method: 'post',
  path: '/doctor',
  tag: 'admin',
  summary: 'Verifies every checksum and chain of this space, or of one session of it. Changes nothing.',
  scope: 'admin',
  reach: 'space',
  long: true,
  weight: 8,
  body: z.object({ session_id: z.string().optional() }),
  result: z.object({ sessions: z.number().int(), findings: z.array(schemaOf(findingCodec)) }),
  handle: async ({ c, store, body: { session_id: session } }) => {
    const findings: object[] = []
    let sessions = 0
    const onProgress = ({ done }: { readonly done: number }): void => {
      sessions = done
    }
    const { signal } = c.req.raw
    try {
      for await (const finding of examine(store, { ownSpace: true, signal, onProgress, ...withoutUndefined({ session }) }))
        findings.push(findingCodec.encode(finding))
    } catch (error) {
      throw signal.aborted ? new HoldfastError('UNAVAILABLE', 'The client left, so the check was ended.', { cause: error }) : error
    }
    return { result: { sessions, findings } }
  },
})

export const adminRoutes: readonly Route[] = [
  whoami,
  createKey,
  listKeys,
  revokeKey,
  createToken,
  revokeToken,
  purge,
  expire,
  getRetention,
  putRetention,
  erase,
  destroyKey,
  audit,
  getQuota,
  putQuota,
  doctor,
]

async function all<T>(several: AsyncIterable<T>, fields: (one: T) => object): Promise<object[]> {
  const result: object[] = []
  for await (const one of several) result.push(fields(one))
  return result
}
