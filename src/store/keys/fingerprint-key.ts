/** The secret with which the redactor of a store makes its fingerprints, kept in the store's own space. */

import { STORE_SPACE } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import { type Redact, redactor } from '../../message/redact.ts'
import { Handle } from '../handle.ts'
import { putEntries, readEntry } from '../messages/entries.ts'
import type { StoreParts } from '../parts.ts'

const SESSION = 'redaction'
const CHANNEL = 'redaction'
const KEY = 'fingerprints'

/**
 * The key of this store's fingerprints: the same secret has the same marker wherever in the store it was said, and nobody who is handed
 * one can try what it is of. Made when it is first wanted.
 */
export async function fingerprintKey(parts: StoreParts): Promise<string> {
  const handle = new Handle({ ...parts, space: STORE_SPACE }, SESSION)
  for (;;) {
    const known = await knownKey(handle)
    if (known !== undefined) return known
    // Under one key: of several processes that find none, the first one counts.
    await putEntries(handle, [{ channel: CHANNEL, key: KEY, value: parts.ids.hex(64) }], { key: 'first' }).catch((error: unknown) => {
      if (!(error instanceof HoldfastError) || error.code !== 'CONFLICT') throw error
    })
  }
}

/** To read with: a store that has no key, or that may only be read, gets one for this time. */
export async function redactorToRead(parts: StoreParts): Promise<Redact> {
  const known = await knownKey(new Handle({ ...parts, space: STORE_SPACE }, SESSION))
  return redactor(known ?? parts.ids.hex(64))
}

async function knownKey(handle: Handle): Promise<string | undefined> {
  if ((await handle.state()).status !== 'live') return undefined
  return (await readEntry(handle, CHANNEL, KEY))?.value as string | undefined
}
