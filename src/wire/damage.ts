/** Damaged places as they are in JSON, over HTTP and with `--json`; and back. */
import type { DamagedPlace, DamageReport } from '../store/damage/damage.ts'
import type { Written } from '../store/handle.ts'
import {
  as,
  count,
  type Describes,
  described,
  exactly,
  flag,
  list,
  nullable,
  object,
  oneOf,
  optional,
  sent,
  text,
  time,
  type WireOf,
} from './codec.ts'

/** Says in how many places an answer lacks something. Arrays have no room for more. */
export const DAMAGE_HEADER = 'holdfast-damage'

/** Nothing else of a place leaves the process. */
export const placeCodec = object(
  {
    position: described(count, 'where it begins in the journal'),
    count: described(nullable(count), 'how many messages the answer lacks because of it; null if unknown'),
    reason: oneOf('rotten', 'zeros', 'missing', 'vanished', 'identity'),
    session: optional(described(text, 'the session whose journal it is in, if that is another one')),
    accepted: optional(described(exactly(true), 'a person has reviewed this loss')),
    since: optional(described(time, 'the time of the last record before the gap')),
  },
  { name: 'DamagedPlace' },
) satisfies Describes<DamagedPlace>

export const placesCodec = described(list(placeCodec), 'where something is missing that was written; left out if nothing is')

/** What a check of one session found. */
export const damageReportCodec = object(
  {
    segment: count,
    offset: count,
    length: count,
    kind: oneOf('torn', 'zeros', 'missing', 'rotten', 'vanished', 'identity'),
  },
  { name: 'Damage' },
) satisfies Describes<DamageReport>

interface Reporting {
  readonly damage?: WireOf<typeof placesCodec> | undefined
}

/** The field of an answer: there only if there is something to report. */
export function damageField(damage: readonly DamagedPlace[]): Reporting {
  return damage.length === 0 ? {} : { damage: placesCodec.encode(damage) }
}

/**
 * The places that an answer reports. An answer whose fields do not say where, but whose header counts places, still lacks something: each
 * of those is reported as missing, at no known position.
 */
export function damageIn(fields: object, header: string | null): readonly DamagedPlace[] {
  const { damage } = fields as Reporting
  return damage === undefined ? placesInHeader(header) : placesCodec.decode(damage)
}

export function placesInHeader(header: string | null): readonly DamagedPlace[] {
  const places = /^\d{1,9}$/.test(header ?? '') ? Math.min(Number(header), MOST_PLACES) : 0
  return Array.from({ length: places }, () => ({ position: 0, count: null, reason: 'missing' as const }))
}

/** A header from another program must not take all memory. */
const MOST_PLACES = 1000

export const acceptedDamageCodec = object(
  { session: sent(as('session_id', text)), version: text, duplicate: flag, accepted: placesCodec },
  { name: 'AcceptedDamage' },
) satisfies Describes<Written & { readonly accepted: readonly DamagedPlace[] }, { readonly session: string }>

/**
 * Removes repeated places: pages of one session repeat a place that several of them touch.
 *
 * @returns Each place once.
 * @example
 * const { damage } = await session.messages()
 * const places = distinctPlaces(damage)
 */
export function distinctPlaces(damage: readonly DamagedPlace[]): DamagedPlace[] {
  const places = new Map<string, DamagedPlace>()
  for (const place of damage) {
    const key = JSON.stringify([place.session ?? null, place.position, place.reason])
    const { count = null } = places.get(key) ?? {}
    places.set(key, { ...place, count: place.count === null || count === null ? (place.count ?? count) : Math.max(place.count, count) })
  }
  return [...places.values()]
}

/**
 * Describes damage in one line: `3 messages are missing at 1 place (rotten)`.
 *
 * @returns The line.
 * @example
 * const { damage } = await session.messages()
 * if (damage.length > 0) console.warn(damageText(damage))
 */
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
