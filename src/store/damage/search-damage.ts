/** Which sessions a search may have missed something in: those that the catalog has as damaged. Of each, the end is read. */
import type { ListedRow } from '../../engine/catalog.ts'
import { reasonOf } from '../../record/damage.ts'
import { LIMITS } from '../../record/limits.ts'
import type { SessionState } from '../../session/state.ts'
import { Handle } from '../handle.ts'
import { filterOf, type ListOptions } from '../list.ts'
import type { CatalogParts, SessionParts, SpaceParts } from '../parts.ts'
import type { DamagedPlace } from './damage.ts'

/** How many sessions are reported. */
const MOST = 100

/** Which sessions are searched. */
export interface SearchScope {
  /** Only in this session, with what it inherited, if it is a fork. */
  readonly session?: string
  /** Only in sessions with this tag, of this owner. */
  readonly tag?: string
  readonly owner?: string
}

interface SearchDamage {
  readonly damage: readonly DamagedPlace[]
  readonly moreDamage: boolean
}

export async function searchDamage(parts: SessionParts, { session, tag, owner }: SearchScope): Promise<SearchDamage> {
  const scope = { ...(tag === undefined ? {} : { tag }), ...(owner === undefined ? {} : { owner }) }
  if (session === undefined) {
    const rows = await damaged(parts, scope, MOST + 1)
    const places = rows.slice(0, MOST).map(async ({ id }) => (await placeIn(parts, id)) ?? somewhere(id))
    return { damage: await Promise.all(places), moreDamage: rows.length > MOST }
  }
  const damage: DamagedPlace[] = []
  for (const id of await withParents(parts, session)) {
    // The catalog does not know a session by its id whose files belong to another one.
    const place = (await placeIn(parts, id)) ?? ((await isDamaged(parts, id)) ? somewhere(id) : undefined)
    if (place !== undefined) damage.push(place)
  }
  return { damage: damage.slice(0, MOST), moreDamage: damage.length > MOST }
}

/** A session, and those that it inherits messages from. */
async function withParents(parts: SessionParts, session: string): Promise<Set<string>> {
  const state: SessionState | undefined = await new Handle(parts, session).state().catch(() => undefined)
  return new Set([session, ...(state?.past ?? []).map((piece) => piece.session)])
}

async function isDamaged(parts: CatalogParts, id: string): Promise<boolean> {
  return (await damaged(parts, { query: id }, LIMITS.pageSessions)).some((row) => row.id === id)
}

function damaged(parts: CatalogParts, options: Pick<ListOptions, 'query' | 'tag' | 'owner'>, limit: number): Promise<readonly ListedRow[]> {
  return parts.catalog.ask('damaged', { ...filterOf(parts.space, options), order: 'updated', limit })
}

/** Where its first damage is, as far as its end shows. */
async function placeIn(parts: SpaceParts, session: string): Promise<DamagedPlace | undefined> {
  const { replica } = parts.replicas.once(parts.engine.name(parts.space, session))
  // What cannot be loaded has its damage noted, too.
  if (replica.damage.length === 0) await replica.read().catch(() => undefined)
  const known = replica.damage.find(({ as }) => as === 'vanished' || as === 'identity') ?? replica.damage.find(({ as }) => as !== 'torn')
  if (known !== undefined) return { position: known.at, count: null, reason: reasonOf(known.as), session }
  const [noticed] = replica.known?.noticed ?? []
  return noticed === undefined ? undefined : { position: noticed.position, count: null, reason: noticed.reason, session }
}

/** The damage of a session that its end does not show. */
function somewhere(session: string): DamagedPlace {
  return { position: 0, count: null, reason: 'rotten', session }
}
