/** The fields of quotas and retention policies. The client checks them too: over HTTP, unknown fields are ignored, and would clear a policy. */
import { invalid } from '../errors.ts'

const LIMITS = ['sessions', 'bytes', 'messagesPerMinute'] as const
export const TIMES = ['deleteIdleAfterMs', 'dropArchivesAfterMs', 'purgeDeletedAfterMs'] as const

export function requireQuotaFields<T extends object>(quota: T): T {
  return requireFields('A quota', LIMITS, quota)
}

export function requireRetentionFields<T extends object>(policy: T): T {
  return requireFields('A retention policy', TIMES, policy)
}

function requireFields<T extends object>(what: string, fields: readonly string[], given: T): T {
  if (typeof given !== 'object' || given === null) throw invalid(`${what} must be an object.`)
  const unknown = Object.keys(given).find((name) => !fields.includes(name))
  if (unknown !== undefined) throw invalid(`${what} has ${fields.join(', ')}; got "${unknown}".`)
  return given
}
