/** What answers say about damage, for the OpenAPI document and for the tests that compare answers with it. */
import { acceptedDamageCodec, damageReportCodec, placesCodec } from '../wire/damage.ts'
import { schemaOf } from './wire-schema.ts'

export const DamagedPlaces = schemaOf(placesCodec)

export const Damage = schemaOf(damageReportCodec)

export const AcceptedDamage = schemaOf(acceptedDamageCodec)
