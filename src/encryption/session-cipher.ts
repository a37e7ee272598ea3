/** How the records of one journal are encrypted: its data key is fetched before something is written, and then encrypts without a wait. */
import type { LineCipher } from '../record/line-cipher.ts'
import type { CheckpointDraft, Draft } from '../record/record.ts'
import type { DataKey } from './data-key.ts'
import type { DataKeys } from './data-keys.ts'

/** Undefined for a journal that is not encrypted: the store has no keys, or the journal holds the keys themselves. */
export function sessionCipher(journal: string, keys: DataKeys | undefined): LineCipher | undefined {
  if (keys === undefined || keys.isOwn(journal)) return undefined
  let key: DataKey | undefined
  const required = (): DataKey => {
    if (key === undefined) throw new TypeError('Nothing can be encrypted before the key is there.')
    return key
  }
  return {
    ready: () => {
      key = keys.atHand(journal)
      if (key !== undefined) return undefined
      return keys.current(journal, true).then((made) => {
        key = made
      })
    },
    prepare: () => key?.prepare(),
    payload: (draft: Draft, text: string) => required().encryptPayload(draft, text),
    state: (draft: CheckpointDraft) => ({ sealed: required().id, state: required().encryptState(draft) }),
    data: (record, payload) => required().encryptData(record, payload),
    message: (record, index, message) => required().encryptMessage(record, index, message),
  }
}
