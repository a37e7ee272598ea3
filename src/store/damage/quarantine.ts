/**
 * The quarantine of a space: copies of bytes that cannot be read, made before a person accepts that, before a restore writes over them, and by an
 * import. They count against the quota of the space.
 */
import { STORE_SPACE } from '../../engine/names.ts'
import { journalBytes } from '../../journal/journal-bytes.ts'
import type { AcknowledgedDamage } from '../../session/records.ts'
import { Handle } from '../handle.ts'
import { putEntries } from '../messages/entries.ts'
import { ownSession } from '../own-session.ts'
import type { SessionParts } from '../parts.ts'

/** So much of one place is kept. */
export const QUARANTINED_BYTES = 1024 * 1024

export function quarantineOf(parts: SessionParts): Handle {
  return new Handle({ ...parts, space: STORE_SPACE }, ownSession('quarantine', parts.space))
}

export async function putInQuarantine(of: Handle, { kind, segment, offset, length }: AcknowledgedDamage, bytes: Buffer): Promise<void> {
  const value = { session: of.id, kind, segment, offset, length, base64: bytes.subarray(0, QUARANTINED_BYTES).toString('base64') }
  const key = `${segment} ${offset} ${of.name}`.slice(0, 400)
  await putEntries(quarantineOf(of.parts), [{ channel: 'doctor', key, value }], {})
}

/** How many bytes the quarantine of a space has on the disk. */
export async function quarantinedBytes(parts: SessionParts): Promise<number> {
  const quarantine = quarantineOf(parts)
  if ((await quarantine.state()).status !== 'live') return 0
  const { journal, replica } = quarantine.held
  return journalBytes(journal, await journal.segments(), await replica.end())
}
