/** Which messages a session has, by their ids. */
import { hashKey, type KeyEntry } from '../../record/key-hash.ts'
import type { Handle } from '../../store/handle.ts'
import { Transcript } from '../../store/messages/transcript.ts'

/** The entries of some message ids, in this session or in what it inherited; undefined for those that it does not have. */
export async function knownMessages(handle: Handle, ids: readonly string[]): Promise<(KeyEntry | undefined)[]> {
  const state = await handle.state()
  if (state.status !== 'live') return ids.map(() => undefined)
  const keys = ids.map((id) => hashKey('message', id))
  const own = await handle.held.replica.find(keys)
  if (state.past.length === 0) return own
  const past = await new Transcript(handle.parts, handle.id, state).findInPast(keys)
  return own.map((entry, index) => entry ?? past.get(keys[index] as string))
}
