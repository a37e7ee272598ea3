/** The function of a caller that sees everything before it is written. */
import type { JsonObject } from '../../record/record.ts'

/** What is about to be written. */
export interface About {
  readonly space: string
  readonly session: string
  /** `entry`: data of an adapter, as `{ channel, key, value }`. `description`: title, tags and metadata. `summary`: of an archive that is imported. */
  readonly kind: 'message' | 'entry' | 'description' | 'summary'
}

/**
 * Returns what is to be written: the same value, or another one. Refuses by throwing. It must give the same answer for the same value: a call
 * that is repeated is compared with what was written before. It is called in the middle of writing, so it cannot wait for anything.
 */
export type BeforeAppend = (value: JsonObject, about: About) => JsonObject
