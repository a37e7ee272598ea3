/** Commits, their archives and tasks; and the window. */

import { z } from '@hono/zod-openapi'
import { DeadlinePassed, withDeadline } from '../../engine/deadline.ts'
import { HoldfastError } from '../../errors.ts'
import { LIMITS } from '../../record/limits.ts'
import type { JsonObject } from '../../record/record.ts'
import { noTask } from '../../session/refusals.ts'
import type { CommitOptions } from '../../store/task-info.ts'
import type { RetryOptions } from '../../store/task-list.ts'
import type { Committed, Task } from '../../store/tasks.ts'
import { clientMessage } from '../../wire/messages.ts'
import { archiveNumber } from '../../wire/names.ts'
import { writtenCodec } from '../../wire/operations.ts'
import { commitCodec, storedArchiveCodec, taskCodec, wholeArchiveCodec, windowCodec } from '../../wire/tasks.ts'
import { otherSession } from '../callers.ts'
import { SERVER_LIMITS } from '../limits.ts'
import { nextPage } from '../next-page.ts'
import { type Answer, type Call, type Route, route } from '../route.ts'
import * as schemas from '../schemas.ts'
import { withoutUndefined } from '../without-undefined.ts'

const count = z.number().int().min(0).optional()

const commit = route({
  method: 'post',
  path: '/sessions/{id}/commit',
  tag: 'commits',
  summary: 'Moves live messages into an archive. Returns at once; with wait=true, when its summary is there.',
  scope: 'write',
  reach: 'session',
  long: true,
  query: z.object({
    wait: schemas.flag.optional(),
    timeout_ms: schemas.number({ max: SERVER_LIMITS.waitMs }).optional().openapi({ description: 'how long to wait at most' }),
  }),
  body: z.object({
    keep_recent_count: count,
    retention_mode: z.enum(['turn_budget', '']).nullable().optional(),
    keep_recent_turn_count: count,
    retained_message_token_budget: count,
  }),
  result: z.union([schemas.Commit, schemas.EndedCommit]),
  handle: async (call) => {
    const { body, query, write, principal } = call
    const session = await call.session()
    const committed = await session.commit({ ...retentionOf(body), ...write })
    call.parts.worker?.wake()
    if (query.wait === true && committed.status === 'accepted') {
      call.rest()
      return waited(call, committed, query.timeout_ms)
    }
    return { result: commitCodec.encode({ session: session.id, committed, user: principal.user }) }
  },
})

function retentionOf(body: {
  keep_recent_count?: number | undefined
  retention_mode?: string | null | undefined
  keep_recent_turn_count?: number | undefined
  retained_message_token_budget?: number | undefined
}): CommitOptions {
  const { keep_recent_count: keep, keep_recent_turn_count: keepTurns, retained_message_token_budget: tokenBudget } = body
  return body.retention_mode === 'turn_budget' ? withoutUndefined({ keepTurns: keepTurns ?? 0, tokenBudget }) : withoutUndefined({ keep })
}

async function waited(
  call: Call,
  committed: Committed & { status: 'accepted' },
  timeoutMs: number = SERVER_LIMITS.waitMs,
): Promise<Answer> {
  const { c, principal } = call
  const { signal } = c.req.raw
  try {
    await withDeadline(timeoutMs, signal, (bounded) => committed.task.completed({ signal: bounded }))
  } catch (error) {
    // One that failed or was cancelled has ended too, and tells itself how.
    const hasEnded = error instanceof HoldfastError && error.code === 'FAILED_PRECONDITION'
    if (!hasEnded && !(error instanceof DeadlinePassed) && !signal.aborted) throw error
  }
  const info = await committed.task.info()
  if (info.status === 'pending' || info.status === 'running') {
    throw new HoldfastError('DEADLINE_EXCEEDED', 'The commit stands, but its summary is not there yet. Ask for its task.', {
      details: { task_id: info.id, status: info.status },
    })
  }
  const { user } = principal
  const commit = commitCodec.encode({ session: committed.task.session, committed, user })
  return { result: { ...commit, ...taskCodec.encode({ ...info, user }) } }
}

const extract = route({
  method: 'post',
  path: '/sessions/{id}/extract',
  tag: 'commits',
  summary: 'Has memories extracted from all live messages, by committing them.',
  scope: 'write',
  reach: 'session',
  result: schemas.Commit,
  handle: async (call) => {
    const session = await call.session()
    const committed = await session.commit(call.write)
    call.parts.worker?.wake()
    return { result: commitCodec.encode({ session: session.id, committed, user: call.principal.user }) }
  },
})

const windowAt = (path: string, summary: string) =>
  route({
    method: 'get',
    path,
    tag: 'commits',
    summary,
    scope: 'read',
    reach: 'session',
    query: z.object({
      token_budget: schemas.number().default(128_000),
      format: schemas.format.optional(),
      recall: z.string().optional().openapi({ description: 'adds the memories and past messages that match' }),
    }),
    result: schemas.Window,
    handle: async (call) => {
      const { token_budget: budget, format, recall } = call.query
      const session = await call.session()
      const version = await session.version()
      const made = await session.window(withoutUndefined({ budget, recall, format: format === 'stored' ? undefined : format }))
      const { damage } = made
      const fields = windowCodec.encode(made)
      if (format !== undefined) return { result: fields, version, damage }
      const messages = made.messages.map((message, i) => clientMessage(message as JsonObject, made.origins[i] ?? null))
      return { result: { ...fields, messages }, version, damage }
    },
  })

const window = windowAt(
  '/sessions/{id}/window',
  'What to send to a model: the last overview, older abstracts and the newest messages, within a budget.',
)
const context = windowAt('/sessions/{id}/context', 'The same as GET /sessions/{id}/window, by its former name.')

const archives = route({
  method: 'get',
  path: '/sessions/{id}/archives',
  tag: 'commits',
  summary: 'Every archive of a session, the first one first.',
  scope: 'read',
  reach: 'session',
  result: z.array(schemas.ArchiveWithSummary),
  handle: async (call) => {
    const session = await call.session()
    return { result: (await session.archives()).map((archive) => wholeArchiveCodec.encode({ session: session.id, ...archive })) }
  },
})

const archive = route({
  method: 'get',
  path: '/sessions/{id}/archives/{aid}',
  tag: 'commits',
  summary:
    'One archive with a page of its messages; also one that has no overview yet. X-Next-Cursor and Link have the cursor of the next page.',
  scope: 'read',
  reach: 'session',
  query: z.object({
    format: z.enum(['stored']).optional(),
    limit: schemas.number({ min: 1, max: LIMITS.pageMessages }).optional(),
    cursor: z.string().optional(),
  }),
  result: z.union([schemas.WholeArchive, schemas.StoredArchive]),
  handle: async (call) => {
    const session = await call.session()
    const { format, ...page } = call.query
    const found = await session.archive(numberOf(call), withoutUndefined(page))
    if (found === undefined) throw noArchive(call.param('aid'))
    const { damage, cursor } = found
    const headers = cursor === null ? {} : nextPage(call.c.req.url, cursor)
    if (format === 'stored') return { result: storedArchiveCodec.encode({ session: session.id, ...found }), headers, damage }
    const fields = wholeArchiveCodec.encode({ session: session.id, ...found })
    const messages = found.messages.map((stored) => clientMessage(stored.message, stored))
    const result = { ...fields, abstract: fields.abstract ?? '', overview: fields.overview ?? '', messages, next_cursor: cursor }
    return { result, headers, damage }
  },
})

const retract = route({
  method: 'delete',
  path: '/sessions/{id}/archives/{aid}/memories',
  tag: 'memories',
  summary: 'Takes back what an archive added to the memories.',
  scope: 'write',
  reach: 'session',
  result: schemas.Written,
  handle: async (call) => {
    const session = await call.session()
    const written = await session.retractMemories(numberOf(call), call.write)
    return { result: writtenCodec.encode({ session: session.id, ...written }), version: written.version }
  },
})

function numberOf(call: Call): number {
  const number = archiveNumber(call.param('aid'))
  if (number === undefined) throw noArchive(call.param('aid'))
  return number
}

function noArchive(id: string): HoldfastError {
  return new HoldfastError('NOT_FOUND', 'There is no such archive in this session.', { details: { reason: 'no archive', archive_id: id } })
}

const tasks = route({
  method: 'get',
  path: '/tasks',
  tag: 'tasks',
  summary: 'Tasks of commits, the newest first.',
  scope: 'read',
  reach: 'own',
  query: z.object({
    task_type: z.string().optional(),
    status: z.enum(['pending', 'running', 'completed', 'failed', 'cancelled']).optional(),
    resource_id: z.string().optional().openapi({ description: 'only of this session' }),
    limit: schemas.number({ max: LIMITS.pageSessions }).default(50),
  }),
  result: z.array(schemas.Task),
  handle: async (call) => {
    const { task_type, status, resource_id: session, limit } = call.query
    const { owner, user } = call.principal
    if (task_type !== undefined && task_type !== 'session_commit') return { result: [] }
    const found = await call.store.tasks(withoutUndefined({ status, session, limit }))
    const own =
      owner === null ? found : (await Promise.all(found.map(async (task) => ((await isOwn(call, task.session)) ? [task] : [])))).flat()
    return { result: own.map((info) => taskCodec.encode({ ...info, user })) }
  },
})

async function isOwn({ store, principal }: Call, session: string): Promise<boolean> {
  return (await store.session(session).info()).owner === principal.owner
}

/** The task of the path, if the caller may know of it. */
async function taskOf(call: Call): Promise<Task> {
  const task = await call.store.task(call.param('tid'))
  const { session, owner } = call.principal
  if (session !== null && session !== task.session) throw otherSession()
  if (owner !== null && !(await isOwn(call, task.session))) throw noTask(task.id)
  return task
}

async function fieldsOf(task: Task, { principal: { user } }: Call): Promise<object> {
  return taskCodec.encode({ ...(await task.info()), user })
}

const task = route({
  method: 'get',
  path: '/tasks/{tid}',
  tag: 'tasks',
  summary: 'A task.',
  scope: 'read',
  reach: 'task',
  result: schemas.Task,
  handle: async (call) => ({ result: await fieldsOf(await taskOf(call), call) }),
})

const cancel = route({
  method: 'post',
  path: '/tasks/{tid}/cancel',
  tag: 'tasks',
  summary: 'Cancels a task. Its archive stays, without a summary unless it is retried.',
  scope: 'write',
  reach: 'task',
  result: schemas.Task,
  handle: async (call) => {
    const found = await taskOf(call)
    await found.cancel(call.write)
    return { result: await fieldsOf(found, call) }
  },
})

const retry = route({
  method: 'post',
  path: '/tasks/{tid}/retry',
  tag: 'tasks',
  summary: 'Begins a task that failed or was cancelled again.',
  scope: 'write',
  reach: 'task',
  result: schemas.Task,
  handle: async (call) => {
    const found = await taskOf(call)
    const { expect } = call.write
    const version = expect === undefined ? undefined : await call.store.session(found.session).version()
    if (version !== expect) throw unexpected(expect, version)
    await found.retry()
    call.parts.worker?.wake()
    return { result: await fieldsOf(found, call) }
  },
})

function unexpected(expected: string | undefined, version: string | undefined): HoldfastError {
  return new HoldfastError('CONFLICT', 'The session has changed since the version that was expected.', {
    details: { reason: 'version', expected, version },
  })
}

const retryAll = route({
  method: 'post',
  path: '/tasks/retry',
  tag: 'tasks',
  summary: 'Begins tasks that ended without a summary again, at a bounded rate.',
  scope: 'write',
  reach: 'space',
  long: true,
  body: z.object({
    status: z.enum(['failed', 'cancelled']).default('failed'),
    resource_id: z.string().optional(),
    since: z.iso.datetime().optional(),
    rate: z.number().min(1).max(1000).default(100),
    limit: z.number().int().min(1).max(LIMITS.pageSessions).default(LIMITS.pageSessions),
  }),
  result: z.array(schemas.Task),
  handle: async (call) => {
    const { status, resource_id: session, since, rate, limit } = call.body
    const options: RetryOptions = withoutUndefined({ status, session, rate, since: since === undefined ? undefined : new Date(since) })
    const begun: object[] = []
    for await (const info of call.store.retryTasks(options)) {
      call.parts.worker?.wake()
      begun.push(taskCodec.encode({ ...info, user: call.principal.user }))
      if (begun.length >= limit) break
    }
    return { result: begun }
  },
})

export const commitRoutes: readonly Route[] = [
  commit,
  extract,
  window,
  context,
  archives,
  archive,
  retract,
  tasks,
  task,
  cancel,
  retryAll,
  retry,
]
