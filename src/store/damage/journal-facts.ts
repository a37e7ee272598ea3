/** What the lines of one journal say, as far as they can be read: also of a journal that is damaged too badly to be loaded. */
import type { Journal } from '../../engine/port.ts'
import { HoldfastError } from '../../errors.ts'
import { history } from '../../journal/history.ts'
import { isDamaged } from '../../record/damage.ts'
import type { ErasedLine } from '../../record/erasure.ts'
import { isEncrypted } from '../../record/line-cipher.ts'
import type { JsonObject } from '../../record/record.ts'
import { infoOf } from '../../session/info.ts'
import type { MessageErased } from '../../session/records.ts'
import { sessionReducer } from '../../session/reducer.ts'
import { INITIAL, type SessionState } from '../../session/state.ts'
import { isWhole } from '../../verify/session-problems.ts'
import type { SpaceParts } from '../parts.ts'

export interface JournalFacts {
  readonly segments: readonly number[]
  readonly state: SessionState
  /** Lines that erasures wrote over, by the position of the record that says so. */
  readonly erased: ReadonlyMap<number, readonly ErasedLine[]>
}

export type FoundStatus = 'ok' | 'damaged' | 'unreadable' | 'deleted' | 'absent'

export async function journalFacts(journal: Journal): Promise<JournalFacts> {
  const segments = await journal.segments()
  const erased = new Map<number, readonly ErasedLine[]>()
  let state: SessionState = INITIAL
  let covered = 0
  const [from = 0] = segments
  for await (const { verdict, segment } of history(journal, { from, barrier: false })) {
    if (verdict.kind === 'checkpoint' && !isEncrypted(verdict.record)) {
      state = sessionReducer.restore(verdict.record.state as JsonObject)
      covered = segment
    } else if (verdict.kind === 'counted') {
      if (verdict.at >= covered) state = sessionReducer.apply(state, verdict)
      const { lines } = verdict.record as unknown as Partial<MessageErased>
      if (verdict.record.type === 'message.erased' && lines !== undefined) erased.set(verdict.at, lines)
    }
  }
  return { segments, state, erased }
}

/** How a session is, with every line of its journal read. */
export async function sessionStatus({ engine, replicas, space }: SpaceParts, id: string): Promise<FoundStatus> {
  const { journal, replica } = replicas.once(engine.name(space, id))
  try {
    const { state } = await replica.read()
    if (state.status === 'deleted') return 'deleted'
    const hasVanished = (await journal.vanished?.()) !== undefined
    if (state.status === 'absent' && !hasVanished && !isDamaged(replica.damage)) return 'absent'
    const { status } = infoOf(id, state, replica.damage)
    return hasVanished || status === 'damaged' || !(await isWhole(engine, journal, state)) ? 'damaged' : 'ok'
  } catch (error) {
    if (!(error instanceof HoldfastError) || !['DAMAGED', 'UNREADABLE'].includes(error.code)) throw error
    return error.code === 'DAMAGED' ? 'damaged' : 'unreadable'
  }
}
