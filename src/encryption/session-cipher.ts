/** How the records of one journal are encrypted: its data key is fetched before something is written, and then encrypts without a wait. */
import type { LineCipher } from '../record/line-cipher.ts'
import type { CheckpointDraft, Draft } from '../record/record.ts'
import type { DataKeys } from './data-keys.ts'
import type { SessionKey } from './session-key.ts'

/** Undefined for a journal that is not encrypted: the store has no keys, or the journal holds the keys themselves. */
export function sessionCipher(journal: string, keys: DataKeys | undefined): LineCipher | undefined {
  if (keys === undefined || keys.isOwn(journal)) return undefined
  let key: SessionKey | undefined
  const required = (): SessionKey => {
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
    payload: (draft: Draft, text: string) => required().sealPayload(draft, text),
    state: (draft: CheckpointDraft) => ({ sealed: required().id, state: required().sealState(draft) }),
    data: (record, payload) => required().sealData(record, payload),
    message: (record, index, message) => required().sealMessage(record, index, message),
  }
}
