/** Sessions as a whole: made, listed, described, removed. */
import { hash } from 'node:crypto'
import { z } from '@hono/zod-openapi'
import { HoldfastError } from '../../errors.ts'
import { LIMITS } from '../../record/limits.ts'
import type { Json, JsonObject } from '../../record/record.ts'
import type { SessionInfo } from '../../session/info.ts'
import { absent } from '../../session/refusals.ts'
import type { DamagedPlace, DamageReport } from '../../store/damage/damage.ts'
import type { Session } from '../../store/session.ts'
import { byCategory } from '../../store/tasks.ts'
import { acceptedDamageCodec, DAMAGE_HEADER } from '../../wire/damage.ts'
import { sessionUri } from '../../wire/names.ts'
import { writtenCodec } from '../../wire/operations.ts'
import { sessionCodec } from '../../wire/sessions.ts'
import { type AutoCommitPolicy, keptPolicy, mergedPolicy, policyOf } from '../auto-commit-policy.ts'
import { otherOwner } from '../callers.ts'
import { AcceptedDamage, Damage } from '../damage-schemas.ts'
import { nextPage } from '../next-page.ts'
import type { Principal } from '../principal.ts'
import { type Call, type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { anyObject } from '../wire-schema.ts'
import { withoutUndefined } from '../without-undefined.ts'

const target = z.object({ enabled: z.boolean().optional() }).nullable().optional()

const policies = {
  auto_commit_policy: anyObject.nullable().optional(),
  memory_policy: z
    .object({ self: target, peer: target, memory_types: z.array(z.string().min(1)).nullable().optional(), working_memory: target })
    .nullable()
    .optional()
    .openapi({
      description: 'whose messages memories are drawn from, which kinds are kept, and whether there is a summary; all unless told',
    }),
  memory_extraction_config: anyObject.nullable().optional(),
}

const create = route({
  method: 'post',
  path: '/sessions',
  tag: 'sessions',
  summary: 'Creates a session; 409 if there is one. A deleted one begins anew.',
  scope: 'write',
  reach: 'own',
  body: z.object({
    session_id: z.string().nullable().optional(),
    ...policies,
    policies: anyObject.optional().openapi({ description: 'as the store keeps them; those above say the same in clients’ words' }),
    ...schemas.Description,
    parent: z.string().nullable().optional().openapi({ description: 'the session that this one is a child of' }),
  }),
  result: schemas.CreatedSession,
  handle: async ({ store, principal, body, write }) => {
    const { session_id, parent, title, tags, metadata, workspace } = body
    const owner = ownerFor(principal, body.owner)
    if (typeof parent === 'string' && principal.owner !== null) await requireOwn(store.session<JsonObject>(parent), principal.owner)
    const policy = body.auto_commit_policy == null ? null : mergedPolicy(body.auto_commit_policy, null)
    const kept = { ...(body.policies as JsonObject | undefined), ...policyPatch(body, policy) }
    const session = await store.create({
      ...withoutUndefined({
        title,
        tags,
        owner,
        workspace,
        metadata: metadata as JsonObject | undefined,
        key: write.key,
        parent: parent ?? undefined,
      }),
      ...(Object.keys(kept).length > 0 ? { policies: kept } : {}),
      ...withoutUndefined({ id: session_id ?? derivedId(principal.space, write.key) }),
    })
    const version = await session.version()
    return {
      result: {
        session_id: session.id,
        uri: sessionUri(session.id, principal.user),
        user: { account_id: principal.account, user_id: principal.user },
        auto_commit_policy: policy,
        version,
      },
      version,
    }
  },
})

/** So that a call that is repeated under its key makes one session. */
function derivedId(space: string, key: string | undefined): string | undefined {
  return key === undefined ? undefined : hash('sha256', JSON.stringify([space, 'POST /sessions', key]), 'hex').slice(0, 32)
}

function policyPatch(
  {
    memory_policy,
    memory_extraction_config,
    auto_commit_policy,
  }: { [K in keyof typeof policies]?: Readonly<Record<string, unknown>> | null | undefined },
  policy: AutoCommitPolicy | null,
): JsonObject {
  return {
    ...(auto_commit_policy === undefined ? {} : { auto_commit: policy === null ? null : keptPolicy(policy) }),
    ...(memory_policy === undefined ? {} : { memory_policy: memory_policy as Json }),
    ...(memory_extraction_config === undefined ? {} : { memory_extraction_config: memory_extraction_config as Json }),
  }
}

/** Whoever is bound to an owner makes sessions of his. */
export function ownerFor({ owner }: Principal, wanted: string | null | undefined): string | null | undefined {
  if (owner === null) return wanted
  if (wanted !== undefined && wanted !== owner) throw otherOwner()
  return owner
}

async function requireOwn(session: Session<JsonObject>, owner: string): Promise<void> {
  if ((await session.info()).owner !== owner) throw absent(session.id)
}

const list = route({
  method: 'get',
  path: '/sessions',
  tag: 'sessions',
  summary:
    'Lists sessions, those changed last first. X-Next-Cursor and Link have the cursor of the next page; Holdfast-Damage counts the damaged sessions of this one.',
  scope: 'read',
  reach: 'own',
  query: z
    .object({
      limit: schemas.number({ max: LIMITS.pageSessions }).optional(),
      cursor: z.string().optional(),
      q: z.string().optional().openapi({ description: 'words that the id, the title or a tag must have; the first 32 count' }),
      tag: z.string().optional(),
      parent: z.string().optional(),
      owner: z.string().optional(),
      workspace: z.string().optional(),
      order: z.enum(['updated', 'created', 'title']).optional(),
      status: z
        .enum(['ok', 'damaged', 'unreadable', 'deleted'])
        .optional()
        .openapi({ description: 'all but the deleted ones unless told' }),
      model: z.string().optional().openapi({ description: 'usage of this model is recorded' }),
      from: schemas.instant.optional(),
      to: schemas.instant.optional(),
      count: schemas.flag.optional().openapi({ description: 'tells in X-Total-Count how many there are' }),
    })
    .loose()
    .openapi({ description: 'metadata.<field>=<value> filters by metadata; a value is JSON if it can be, otherwise a text' }),
  readsMessages: true,
  result: z.array(schemas.ListedSession),
  handle: async ({ c, store, principal, query }) => {
    const { limit = LIMITS.pageSessions, cursor, q, tag, parent, workspace, order, status, model, from, to, count } = query
    const owner = principal.owner ?? query.owner
    const wanted = withoutUndefined({ limit, cursor, query: q, tag, parent, owner, workspace, order, status, model, from, to, count })
    const page = await store.list({ ...wanted, metadata: metadataIn(c.req.query()) })
    const result = page.sessions.map((info) => ({
      ...sessionCodec.encode(info),
      uri: sessionUri(info.id, principal.user),
      is_dir: true,
      mod_time: info.updatedAt,
    }))
    const total = page.total === undefined ? {} : { 'x-total-count': String(page.total) }
    const damaged = page.sessions.filter(({ status }) => status === 'damaged').length
    const headers = { ...total, ...(damaged === 0 ? {} : { [DAMAGE_HEADER]: String(damaged) }) }
    return { result, headers: { ...headers, ...(page.cursor === null ? {} : nextPage(c.req.url, page.cursor)) } }
  },
})

function metadataIn(query: Readonly<Record<string, string>>): Record<string, Json> {
  const fields = Object.entries(query).filter(([name]) => name.startsWith('metadata.'))
  return Object.fromEntries(fields.map(([name, value]) => [name.slice('metadata.'.length), jsonOrText(value)]))
}

function jsonOrText(value: string): Json {
  try {
    return JSON.parse(value) as Json
  } catch {
    return value
  }
}

const show = route({
  method: 'get',
  path: '/sessions/{id}',
  tag: 'sessions',
  summary: 'What there is to know of a session but for its messages.',
  scope: 'read',
  reach: 'session',
  query: z.object({ auto_create: schemas.flag.optional() }),
  result: schemas.SessionDetails,
  handle: async (call) => {
    const { principal, query } = call
    const session = await call.session({ creates: query.auto_create === true })
    const info = await infoOrNew(call, session, query.auto_create === true)
    const archives = await session.archives()
    const memories = archives.flatMap((archive) => archive.memories)
    const usage = await session.usage()
    return {
      result: {
        ...sessionCodec.encode(info),
        uri: sessionUri(info.id, principal.user),
        user: { account_id: principal.account, user_id: principal.user },
        last_commit_at: archives.at(-1)?.createdAt ?? '',
        memories_extracted: { ...byCategory(memories), total: memories.length },
        llm_token_usage: tokenUsage(usage),
        auto_commit_policy: policyOf(info.policies),
      },
      version: info.version,
    }
  },
})

async function infoOrNew({ store, principal, write }: Call, session: Session<JsonObject>, create: boolean): Promise<SessionInfo> {
  try {
    return await session.info()
  } catch (error) {
    const isAbsent = error instanceof HoldfastError && error.code === 'NOT_FOUND' && error.details.reason === 'absent'
    if (!create || !isAbsent) throw error
  }
  if (principal.scope === 'read') throw new HoldfastError('PERMISSION_DENIED', 'auto_create needs a key with the scope "write".')
  try {
    await store.create({ id: session.id, ...write })
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'ALREADY_EXISTS')) throw error
  }
  return session.info()
}

function tokenUsage(usage: readonly { readonly inputTokens: number; readonly outputTokens: number }[]): Record<string, number> {
  const prompt_tokens = usage.reduce((sum, { inputTokens }) => sum + inputTokens, 0)
  const completion_tokens = usage.reduce((sum, { outputTokens }) => sum + outputTokens, 0)
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, cached_tokens: 0, reasoning_tokens: 0 }
}

const describe = route({
  method: 'patch',
  path: '/sessions/{id}',
  tag: 'sessions',
  summary: 'Title, tags, owner, workspace, metadata. Cannot touch a message.',
  scope: 'write',
  reach: 'session',
  body: z.object({
    ...schemas.Description,
    policies: anyObject.optional(),
    add_tags: z.array(z.string()).optional(),
    remove_tags: z.array(z.string()).optional(),
  }),
  result: schemas.Written,
  handle: async (call) => {
    const { body, write, principal } = call
    const { title, tags, workspace, metadata, policies: patch, add_tags: addTags, remove_tags: removeTags } = body
    const owner = body.owner === undefined ? undefined : ownerFor(principal, body.owner)
    const session = await call.session()
    const written = await session.describe(
      withoutUndefined({
        title,
        tags,
        owner,
        workspace,
        metadata: metadata as JsonObject | undefined,
        policies: patch as JsonObject | undefined,
        addTags,
        removeTags,
      }),
      write,
    )
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const configure = route({
  method: 'patch',
  path: '/sessions/{id}/config',
  tag: 'sessions',
  summary: 'When the session commits by itself, and what is extracted. Tells what holds now.',
  scope: 'write',
  reach: 'session',
  body: z.object(policies),
  result: schemas.SessionConfig,
  handle: async (call) => {
    const { body, write } = call
    const session = await call.session()
    const before = policyOf((await session.info()).policies)
    const policy = body.auto_commit_policy == null ? null : mergedPolicy(body.auto_commit_policy, before)
    const patch = policyPatch(body, policy)
    if (Object.keys(patch).length > 0) await session.describe({ policies: patch }, write)
    const { policies: kept, version } = await session.info()
    const result = {
      session_id: session.id,
      auto_commit_policy: policyOf(kept),
      memory_extraction_config: kept.memory_extraction_config ?? null,
      version,
    }
    return { result, version }
  },
})

const remove = route({
  method: 'delete',
  path: '/sessions/{id}',
  tag: 'sessions',
  summary: 'Deletes a session. It can be restored until it is purged.',
  scope: 'write',
  reach: 'session',
  auditsFirst: true,
  result: schemas.Written,
  handle: async (call) => {
    const session = await call.session()
    return { result: writtenCodec.encode({ session: session.id, ...(await session.delete(call.write)) }) }
  },
})

const restore = route({
  method: 'post',
  path: '/sessions/{id}/restore',
  tag: 'sessions',
  summary: 'Brings back a deleted session.',
  scope: 'write',
  reach: 'session',
  auditsFirst: true,
  result: schemas.Written,
  handle: async (call) => {
    const session = await call.session()
    const written = await session.restore(call.write)
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const recordPage = route({
  method: 'get',
  path: '/sessions/{id}/records',
  tag: 'sessions',
  summary: 'What happened to a session, the last thing first: the records of its journal. A call looks at 5,000 of them at most.',
  scope: 'read',
  reach: 'session',
  query: z.object({
    before: schemas.number().optional().openapi({ description: 'as the page before told it' }),
    limit: schemas.number({ max: 1000 }).optional(),
    messages: z.enum(['include', 'exclude']).optional(),
  }),
  result: schemas.RecordPage,
  handle: async (call) => {
    const { before, limit, messages } = call.query
    const session = await call.session()
    const wanted = withoutUndefined({ before, limit, messages: messages === 'exclude' ? false : undefined })
    const { records, before: next, damage } = await session.recordPage(wanted)
    return { result: { records, before: next }, damage }
  },
})

const damage = route({
  method: 'get',
  path: '/sessions/{id}/damage',
  tag: 'sessions',
  summary: 'What cannot be read in the journal of a session, and where. Reads all of it.',
  scope: 'read',
  reach: 'session',
  result: z.array(Damage),
  handle: async (call) => {
    const session = await call.session()
    const result = await session.damage()
    // A session that never existed has no damage. The answer must be the same for another caller's session.
    if (result.length === 0 && (await session.version()).startsWith('0-')) await session.info()
    return { result, damage: result.flatMap(placeIn) }
  },
})

/** Half a line at the end was never acknowledged. */
function placeIn({ segment, offset, kind }: DamageReport): DamagedPlace[] {
  return kind === 'torn' ? [] : [{ position: segment + offset, count: null, reason: kind }]
}

const acceptDamage = route({
  method: 'post',
  path: '/sessions/{id}/accept-damage',
  tag: 'sessions',
  summary: 'Lets a session continue without what it lost. Reads keep reporting the damage, as accepted.',
  scope: 'write',
  reach: 'session',
  auditsFirst: true,
  result: AcceptedDamage,
  handle: async (call) => {
    const session = await call.session()
    const accepted = await session.acceptDamage(call.write)
    return { result: acceptedDamageCodec.encode({ session: session.id, ...accepted }), version: accepted.version }
  },
})

export const sessionRoutes: readonly Route[] = [create, list, show, describe, configure, remove, restore, recordPage, damage, acceptDamage]
