/** The quarantine of a store: copies of bytes that cannot be read, made before a person accepts that, or before a restore writes over them. */
import { STORE_SPACE } from '../../engine/names.ts'
import type { AcknowledgedDamage } from '../../session/records.ts'
import { Handle } from '../handle.ts'
import { putEntries } from '../messages/entries.ts'

/** So much of one place is kept. */
export const QUARANTINED_BYTES = 1024 * 1024

export async function putInQuarantine(of: Handle, { kind, segment, offset, length }: AcknowledgedDamage, bytes: Buffer): Promise<void> {
  const quarantine = new Handle({ ...of.parts, space: STORE_SPACE }, 'quarantine')
  const value = { session: of.id, kind, segment, offset, length, base64: bytes.subarray(0, QUARANTINED_BYTES).toString('base64') }
  const key = `${segment} ${offset} ${of.name}`.slice(0, 400)
  await putEntries(quarantine, [{ channel: `doctor:${of.parts.space}`, key, value }], {})
}
