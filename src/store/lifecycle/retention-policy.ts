/**
 * How long a space keeps things: what `expire` goes by where its caller names no time. It lies in the store's own space, beside the quotas, so that
 * whoever runs `expire`, from a timer or by hand, need not know it. What a session says of itself comes first.
 */

import { STORE_SPACE } from '../../engine/names.ts'
import { invalid } from '../../session/check.ts'
import { Handle } from '../handle.ts'
import { putEntries, readEntry } from '../messages/entries.ts'
import type { SessionParts } from '../parts.ts'
import { requireRetentionFields, TIMES } from '../policy-fields.ts'

/** How long a space keeps things. What has no period is kept without end. */
export interface RetentionPolicy {
  /** Deletes sessions that no caller has changed for so long, unless their own policy says otherwise. Defaults to none. */
  readonly deleteIdleAfterMs?: number
  /** Erases the messages of archives that were completed so long ago, and keeps their summaries and memories. Defaults to none. */
  readonly dropArchivesAfterMs?: number
  /** Purges what was deleted so long ago. Defaults to nothing. */
  readonly purgeDeletedAfterMs?: number
}

const SESSION = 'retention'
const CHANNEL = 'retention'

/** The times among these options, if they are times. */
export function timesOf(options: RetentionPolicy): RetentionPolicy {
  const given = TIMES.flatMap((what) => (options[what] === undefined ? [] : [[what, options[what]] as const]))
  for (const [what, ms] of given) {
    if (!(ms >= 0 && Number.isFinite(ms))) throw invalid(`${what} must be a number of milliseconds from 0 on; got ${String(ms)}.`)
  }
  return Object.fromEntries(given)
}

export async function retentionOf(parts: SessionParts): Promise<RetentionPolicy> {
  const handle = storesOwn(parts)
  if ((await handle.state()).status !== 'live') return {}
  return ((await readEntry(handle, CHANNEL, `space ${parts.space}`))?.value ?? {}) as RetentionPolicy
}

/** In place of what was said before; an empty one takes it away. */
export async function setRetention(parts: SessionParts, policy: RetentionPolicy): Promise<void> {
  const times = timesOf(requireRetentionFields(policy))
  const entry = { channel: CHANNEL, key: `space ${parts.space}` }
  await putEntries(storesOwn(parts), [Object.keys(times).length === 0 ? entry : { ...entry, value: { ...times } }], {})
}

function storesOwn(parts: SessionParts): Handle {
  return new Handle({ ...parts, space: STORE_SPACE }, SESSION)
}
