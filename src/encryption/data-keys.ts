/** The data keys of the journals of an encrypted store, for those who encrypt and decrypt. Where they are kept is the store's business. */
import type { DataKey } from './data-key.ts'

export interface DataKeys {
  /** Whether a journal holds the keys themselves. It is not encrypted. */
  isOwn(journal: string): boolean
  /** The key with an id. UNREADABLE if it is not there or cannot be unwrapped. */
  load(id: string): Promise<DataKey>
  /** The key that a journal is written with, if it is in memory. */
  atHand(journal: string): DataKey | undefined
  /** The key that a journal is written with; undefined if it has none. `make`: then it is made. */
  current(journal: string, make: boolean): Promise<DataKey | undefined>
  /** Passes on which of some journals have lost their keys since the last call, and forgets those keys. */
  passDestroyed(journals: () => Promise<readonly string[]>, take: (keyless: readonly string[]) => Promise<void>): Promise<void>
  /** Destroys the key of a journal, for good and everywhere. False if there is none. */
  destroy(journal: string): Promise<boolean>
  /** Wraps all keys with the first master key. Returns how many. */
  rewrap(onProgress?: (done: number) => void): Promise<number>
}
