import type { JsonObject } from '../../record/record.ts'

/** A message as it is kept. */
export interface StoredMessage {
  readonly id: string
  /** When it was appended. */
  readonly at: string
  /** How many messages lead to it, itself included. */
  readonly depth: number
  /** The number of the archive that holds it; null if it is live. */
  readonly archive: number | null
  /** Whether its content is not the first one. */
  readonly replaced: boolean
  /** Its content was erased, with every earlier content that it had. */
  readonly erased?: boolean
  readonly message: JsonObject
}
