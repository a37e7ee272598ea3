/** Damaged places as they are in JSON, over HTTP and with `--json`; and back. */
import type { DamagedPlace, DamageReason } from '../store/damage/damage.ts'
import type { Written } from '../store/handle.ts'

/** Says in how many places an answer lacks something. Arrays have no room for more. */
export const DAMAGE_HEADER = 'holdfast-damage'

export interface PlaceFields {
  readonly position: number
  readonly count: number | null
  readonly reason: DamageReason
  readonly session?: string | undefined
  readonly accepted?: true | undefined
  readonly since?: string | undefined
}

interface Reporting {
  readonly damage?: readonly PlaceFields[] | undefined
}

/** The names are the same on both sides; nothing else of a place leaves the process. */
export function placeFields(place: DamagedPlace): PlaceFields {
  return placeOf(place)
}

export function placeOf({ position, count, reason, session, accepted, since }: PlaceFields): DamagedPlace {
  return {
    position,
    count,
    reason,
    ...(session === undefined ? {} : { session }),
    ...(accepted === undefined ? {} : { accepted }),
    ...(since === undefined ? {} : { since }),
  }
}

/** The field of an answer: there only if there is something to report. */
export function damageField(damage: readonly DamagedPlace[]): Reporting {
  return damage.length === 0 ? {} : { damage: damage.map(placeFields) }
}

/**
 * The places that an answer reports. An answer whose fields do not say where, but whose header counts places, still lacks something: each
 * of those is reported as missing, at no known position.
 */
export function damageIn(fields: object, header: string | null): readonly DamagedPlace[] {
  return (fields as Reporting).damage?.map(placeOf) ?? placesInHeader(header)
}

export function placesInHeader(header: string | null): readonly DamagedPlace[] {
  const places = /^\d{1,9}$/.test(header ?? '') ? Math.min(Number(header), MOST_PLACES) : 0
  return Array.from({ length: places }, () => ({ position: 0, count: null, reason: 'missing' as const }))
}

/** A header from another program must not take all memory. */
const MOST_PLACES = 1000

export type AcceptedFields = ReturnType<typeof acceptedFields>

export function acceptedFields(
  session: string,
  { version, duplicate, accepted }: Written & { readonly accepted: readonly DamagedPlace[] },
) {
  return { session_id: session, version, duplicate, accepted: accepted.map(placeFields) }
}

/** Each place once: pages of one session repeat those that several of them touch. */
export function distinctPlaces(damage: readonly DamagedPlace[]): DamagedPlace[] {
  const places = new Map<string, DamagedPlace>()
  for (const place of damage) {
    const key = JSON.stringify([place.session ?? null, place.position, place.reason])
    const { count = null } = places.get(key) ?? {}
    places.set(key, { ...place, count: place.count === null || count === null ? (place.count ?? count) : Math.max(place.count, count) })
  }
  return [...places.values()]
}

/** `3 messages are missing at 1 place (rotten)` */
export function damageText(damage: readonly DamagedPlace[]): string {
  const places = damage.length === 1 ? '1 place' : `${damage.length} places`
  const reasons = [...new Set(damage.map(({ reason, accepted }) => (accepted === true ? `${reason}, accepted` : reason)))].join('; ')
  return `${missingText(damage)} at ${places} (${reasons})`
}

function missingText(damage: readonly DamagedPlace[]): string {
  const known = damage.reduce((sum, { count }) => sum + (count ?? 0), 0)
  const messages = known === 1 ? '1 message is' : `${known} messages are`
  if (damage.every(({ count }) => count !== null))
    return known === 0 ? 'no messages are missing, but data cannot be read' : `${messages} missing`
  return known === 0 ? 'messages may be missing' : `at least ${messages} missing`
}
