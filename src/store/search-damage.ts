/** Which sessions a search may have missed something in: those that the catalog has as damaged. Nothing of them is read. */
import type { SessionState } from '../session/state.ts'
import type { DamagedPlace } from './damage.ts'
import { reasonOf } from './damage-scan.ts'
import { Handle } from './handle.ts'
import { list } from './list.ts'
import type { StoreParts } from './parts.ts'
import type { SearchOptions } from './search.ts'

/** How many sessions are reported. */
const MOST = 100

interface SearchDamage {
  readonly damage: readonly DamagedPlace[]
  readonly moreDamage: boolean
}

export async function searchDamage(parts: StoreParts, { session, tag, owner }: SearchOptions): Promise<SearchDamage> {
  const scope = { ...(tag === undefined ? {} : { tag }), ...(owner === undefined ? {} : { owner }) }
  if (session === undefined) {
    const { sessions, cursor } = await list(parts, { ...scope, status: 'damaged', limit: MOST })
    return { damage: sessions.map(({ id }) => placeIn(parts, id)), moreDamage: cursor !== null }
  }
  const damage: DamagedPlace[] = []
  for (const id of await withParents(parts, session)) if (await isDamaged(parts, id)) damage.push(placeIn(parts, id))
  return { damage: damage.slice(0, MOST), moreDamage: damage.length > MOST }
}

/** A session, and those that it inherits messages from. */
async function withParents(parts: StoreParts, session: string): Promise<Set<string>> {
  const state: SessionState | undefined = await new Handle(parts, session).state().catch(() => undefined)
  return new Set([session, ...(state?.past ?? []).map((piece) => piece.session)])
}

async function isDamaged(parts: StoreParts, id: string): Promise<boolean> {
  for (let cursor: string | undefined; ; ) {
    const page = await list(parts, { query: id, status: 'damaged', ...(cursor === undefined ? {} : { cursor }) })
    if (page.sessions.some((one) => one.id === id)) return true
    if (page.cursor === null) return false
    cursor = page.cursor
  }
}

/** Where its first damage is, if this process has loaded the session. */
function placeIn(parts: StoreParts, session: string): DamagedPlace {
  const { replica } = parts.replicas.once(parts.engine.name(parts.space, session))
  const known = replica.damage.find(({ as }) => as !== 'torn')
  return { position: known?.at ?? 0, count: null, reason: known === undefined ? 'rotten' : reasonOf(known.as), session }
}
