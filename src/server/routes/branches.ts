/** Moving along the branches of a session, and sessions that come from it. */
import { z } from '@hono/zod-openapi'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import { namedTarget } from '../../wire/named-target.ts'
import { turnCodec, writtenCodec } from '../../wire/operations.ts'
import { damageInTree, snapshotCodec, treePageCodec } from '../../wire/sessions.ts'
import { nextPage } from '../next-page.ts'
import { type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { withoutUndefined } from '../without-undefined.ts'
import { ownerFor } from './sessions.ts'

const fork = route({
  method: 'post',
  path: '/sessions/{id}/fork',
  tag: 'branches',
  summary: 'A session that begins with this one’s messages. Shares them, copies nothing.',
  scope: 'write',
  reach: 'session',
  body: z.object({
    at: z.string().optional().openapi({ description: 'the message that it ends with; the last one unless told' }),
    session_id: z.string().optional(),
    child: z.boolean().optional().openapi({ description: 'a sub-agent’s session instead, which begins with nothing' }),
    ...schemas.Description,
  }),
  result: z.object({ session_id: z.string(), version: z.string(), parent: z.string() }),
  handle: async (call) => {
    const { body, write, principal } = call
    const { at, session_id: id, child, title, tags, workspace, metadata } = body
    const owner = ownerFor(principal, body.owner)
    const of = await call.session()
    const options = { ...withoutUndefined({ id, title, tags, owner, workspace, metadata: metadata as JsonObject | undefined }), ...write }
    const created = child === true ? await of.child(options) : await of.fork({ ...options, ...withoutUndefined({ at }) })
    const version = await created.version()
    return { result: { session_id: created.id, version, parent: of.id }, version }
  },
})

const tree = route({
  method: 'get',
  path: '/sessions/{id}/tree',
  tag: 'branches',
  summary: 'The session with its forks and children, and theirs, page by page. X-Next-Cursor and Link have the cursor of the next page.',
  scope: 'read',
  reach: 'session',
  query: z.object({ limit: schemas.number({ min: 1, max: LIMITS.pageSessions }).optional(), cursor: z.string().optional() }),
  result: schemas.TreePage,
  handle: async (call) => {
    const { owner, session } = call.principal
    const of = await call.session()
    // A caller that is bound to one session, or to one owner, does not learn of others.
    const page =
      session === null
        ? await of.tree(withoutUndefined({ ...call.query, owner: owner ?? undefined }))
        : { ...(await of.tree({ limit: 1 })), children: [], cursor: null }
    return {
      result: treePageCodec.encode(page),
      headers: page.cursor === null ? {} : nextPage(call.c.req.url, page.cursor),
      damage: damageInTree(page),
      damageInResult: true,
    }
  },
})

const takeSnapshot = route({
  method: 'post',
  path: '/sessions/{id}/snapshots',
  tag: 'branches',
  summary: 'Names the last message, or another one, so that one can go back to it.',
  scope: 'write',
  reach: 'session',
  body: z.object({ name: z.string(), at: z.string().optional() }),
  result: schemas.Written,
  handle: async (call) => {
    const { name, at } = call.body
    const session = await call.session()
    const written = await session.snapshot(name, { ...call.write, ...withoutUndefined({ at }) })
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const snapshots = route({
  method: 'get',
  path: '/sessions/{id}/snapshots',
  tag: 'branches',
  summary: 'The snapshots of a session.',
  scope: 'read',
  reach: 'session',
  result: schemas.Snapshots,
  handle: async (call) => {
    const { snapshots: taken, version } = await (await call.session()).info()
    return { result: taken.map(snapshotCodec.encode), version }
  },
})

const revert = route({
  method: 'post',
  path: '/sessions/{id}/revert',
  tag: 'branches',
  summary: 'Goes back, or over, to a snapshot or a message. Nothing is destroyed, and undo returns.',
  scope: 'write',
  reach: 'session',
  body: z
    .object({
      message: z.string().nullable().optional().openapi({ description: 'the id of a message; null: before the first' }),
      snapshot: z.string().optional().openapi({ description: 'the name of a snapshot' }),
      to: z.string().nullable().optional().openapi({ description: 'a snapshot, or else a message: for callers that have only a name' }),
    })
    .refine(({ message, snapshot, to }) => [message, snapshot, to].filter((one) => one !== undefined).length === 1, {
      message: 'give either `message` or `snapshot`',
    }),
  result: schemas.Written,
  handle: async (call) => {
    const session = await call.session()
    const { to, message, snapshot } = call.body
    const target =
      to !== undefined ? await namedTarget(session, to) : snapshot !== undefined ? { snapshot } : { message: message as string | null }
    const written = await session.revert(target, call.write)
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const undo = route({
  method: 'post',
  path: '/sessions/{id}/undo',
  tag: 'branches',
  summary: 'Takes back the last revert that was not taken back.',
  scope: 'write',
  reach: 'session',
  result: schemas.Written,
  handle: async (call) => {
    const session = await call.session()
    const written = await session.undo(call.write)
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

const turn = route({
  method: 'get',
  path: '/sessions/{id}/turn',
  tag: 'branches',
  summary: 'Whether the last turn is complete, unanswered or interrupted, with its open tool calls.',
  scope: 'read',
  reach: 'session',
  result: schemas.Turn,
  handle: async (call) => {
    const last = await (await call.session()).turn()
    return { result: turnCodec.encode(last), damage: last.damage }
  },
})

export const branchRoutes: readonly Route[] = [fork, tree, takeSnapshot, snapshots, revert, undo, turn]
