/** How answers report damage: in a field of results that are objects, and in the header of every answer. */
import { z } from '@hono/zod-openapi'
import { type DamagedPlace, knownPlaces } from '../store/damage/damage.ts'
import { Handle } from '../store/handle.ts'
import type { Store } from '../store/store.ts'
import { DAMAGE_HEADER, damageField } from '../wire/damage.ts'
import { DamagedPlaces } from './damage-schemas.ts'
import type { Route } from './route.ts'

/** Whether answers of a route can lack something that was written to a session. */
export function mayReportDamage({ method, reach, readsMessages }: Route): boolean {
  return readsMessages === true || (method === 'get' && reach === 'session')
}

/** What a route answers, with the field that reports damage. */
export function resultOf(route: Route): z.ZodType {
  return mayReportDamage(route) ? reporting(route.result) : route.result
}

function reporting(result: z.ZodType): z.ZodType {
  if (result instanceof z.ZodUnion) return z.union((result.options as z.ZodType[]).map(reporting) as [z.ZodType, z.ZodType])
  if (!(result instanceof z.ZodObject) || 'damage' in result.shape) return result
  return result.extend({ damage: DamagedPlaces.optional() })
}

export function withDamage(result: unknown, damage: readonly DamagedPlace[]): unknown {
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result)
  return isObject && damage.length > 0 ? { ...result, ...damageField(damage) } : result
}

export function damageHeader(damage: readonly DamagedPlace[]): Record<string, string> {
  return damage.length === 0 ? {} : { [DAMAGE_HEADER]: String(damage.length) }
}

/** What reading a session has shown so far. Reads nothing. */
export function knownDamage({ method, reach }: Route, store: Store, session: string | null): readonly DamagedPlace[] {
  if (method !== 'get' || reach !== 'session' || session === null) return []
  return knownPlaces(new Handle(store.parts, session).held.replica)
}
