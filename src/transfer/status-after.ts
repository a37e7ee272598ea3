/** How a session would be after a restore that is only planned. Nothing is written. */

import type { Engine } from '../engine/port.ts'
import { Replicas } from '../journal/replicas.ts'
import { LIMITS } from '../record/limits.ts'
import { sessionReducer } from '../session/reducer.ts'
import { type FoundStatus, sessionStatus } from '../store/damage/journal-facts.ts'
import type { StoreParts } from '../store/parts.ts'

/** `after`: an engine whose journal of the session is as the restore would leave it. */
export async function statusAfter(parts: StoreParts, id: string, after: Engine): Promise<FoundStatus> {
  const { clock, ids, engine, space } = parts
  const replicas = new Replicas({ reducer: sessionReducer, engine: after, clock, ids, limits: LIMITS })
  const status = await sessionStatus({ ...parts, engine: after, replicas }, id)
  const name = engine.name(space, id)
  // What vanished is back if the journal would reach as far as it did; holes before that are found line by line.
  const vanished = await engine.journal(name).vanished?.()
  if (status !== 'ok' || vanished === undefined) return status
  const journal = after.journal(name)
  const last = (await journal.segments()).at(-1) ?? 0
  const end = (await journal.read(last, last))?.next ?? last
  return end >= vanished.to ? 'ok' : 'damaged'
}
