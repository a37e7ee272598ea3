/** What answers say about damage, for the OpenAPI document and for the tests that compare answers with it. */
import { z } from '@hono/zod-openapi'
import type { AcceptedFields, PlaceFields } from '../wire/damage.ts'

const text = z.string()
const count = z.number().int().min(0)
const time = text.openapi({ format: 'date-time' })

export const DamagedPlaces = z
  .array(
    z
      .object({
        position: count.openapi({ description: 'where it begins in the journal' }),
        count: count.nullable().openapi({ description: 'how many messages the answer lacks because of it; null if unknown' }),
        reason: z.enum(['rotten', 'zeros', 'missing', 'vanished', 'identity']),
        session: text.optional().openapi({ description: 'the session whose journal it is in, if that is another one' }),
        accepted: z.literal(true).optional().openapi({ description: 'a person has reviewed this loss' }),
        since: time.optional().openapi({ description: 'the time of the last record before the gap' }),
      })
      .openapi('DamagedPlace') satisfies z.ZodType<PlaceFields>,
  )
  .openapi({ description: 'where something is missing that was written; left out if nothing is' })

export const Damage = z
  .object({ segment: count, offset: count, length: count, kind: z.enum(['torn', 'zeros', 'missing', 'rotten', 'vanished', 'identity']) })
  .openapi('Damage')

export const AcceptedDamage = z
  .object({ session_id: text, version: text, duplicate: z.boolean(), accepted: DamagedPlaces })
  .openapi('AcceptedDamage') satisfies z.ZodType<AcceptedFields>
