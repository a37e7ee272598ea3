/**
 * A route as the table has it: its place, who may call it, what goes in and out, and what it does. The table is the one description of the
 * interface: the server answers by it, the OpenAPI document is made from it, and the test that no space sees another goes through it.
 */

import type { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { JsonObject } from '../record/record.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import type { WriteOptions } from '../store/handle.ts'
import type { Session } from '../store/session.ts'
import type { Store } from '../store/store.ts'
import type { Holding } from './held-bytes.ts'
import type { ServerParts } from './parts.ts'
import type { Caller, Principal, Scope } from './principal.ts'

/** What a handler has to work with. */
export interface Call<Q = unknown, B = unknown> {
  readonly c: Context
  readonly parts: ServerParts
  readonly principal: Principal
  /** Counts the bytes that this request keeps in memory. */
  readonly holding: Holding
  /** The sessions of the caller's space. */
  readonly store: Store
  readonly query: Q
  readonly body: B
  /** From `Idempotency-Key`, and from `If-Match` or `expect`. */
  readonly write: WriteOptions
  /** What was filled into the path, checked to be there. */
  param(name: string): string
  /** From now on the request only waits, so other requests of the caller may run. */
  rest(): void
  /** The session of the path; NOT_FOUND if it is not for this caller. With `creates`, one that is missing is made if it must belong to somebody. */
  session(options?: { readonly creates?: boolean }): Promise<Session<JsonObject>>
}

export interface Answer {
  readonly result: unknown
  /** Of the session, for `ETag`. */
  readonly version?: string
  readonly headers?: Readonly<Record<string, string>>
  /**
   * What the answer lacks. It goes into the header, and into the result where that is an object. A GET of a session that says nothing here
   * reports what is known to be damaged in that session.
   */
  readonly damage?: readonly DamagedPlace[]
  /** The result already says where: only the header is added. */
  readonly damageInResult?: boolean
}

export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below /api/v1, with what is to be filled in in braces. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  /** The scope that a caller needs. `anyone` needs none, and sends no key. */
  readonly scope: Scope | 'anyone'
  /**
   * What it reaches, and so for whom: `session`, the one that the path names; `task`, one by its id; `own`, things of the space that are told
   * apart by owner; `space`, the space as a whole, which a caller who is bound to an owner or a session does not see.
   */
  readonly reach: 'session' | 'task' | 'own' | 'space'
  /** The kinds of callers that may call it. Defaults to those that `reach` admits (`callers.ts`). */
  readonly callers?: readonly Caller[]
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** Instead of checking the body by its schema, which takes longer than appending it. */
  readonly checkBody?: (body: unknown) => unknown
  readonly result: z.ZodType
  /** It reads messages of sessions that its path does not name, so its answer may report damage. Every GET of a session may. */
  readonly readsMessages?: boolean
  /** How many messages a body adds: they count for the key that brings them. */
  readonly messages?: (body: unknown) => number
  /** Gives or takes access, or removes data: the entry in the audit log is durable before the answer. */
  readonly auditsFirst?: boolean
  /** Waits, or streams: its time says nothing. */
  readonly long?: boolean
  /** How many ordinary requests it is worth, where several keys share the server. Defaults to 1. */
  readonly weight?: number
  readonly handle: (call: Call) => Promise<Answer | Response>
}

interface Definition<Q extends z.ZodObject, B extends z.ZodType> extends Omit<Route, 'query' | 'body' | 'handle'> {
  readonly query?: Q
  readonly body?: B
  readonly handle: (call: Call<z.output<Q>, z.output<B>>) => Promise<Answer | Response>
}

/** One line of the table, with the types of what goes in. */
export function route<Q extends z.ZodObject = z.ZodObject, B extends z.ZodType = z.ZodType>(definition: Definition<Q, B>): Route {
  return definition as unknown as Route
}
