import type { Message } from '../../message/shapes.ts'
import type { JsonObject } from '../../record/record.ts'
import type { DamagedPlace } from '../../session/damaged-places.ts'

/** A message as Holdfast keeps it. */
export interface StoredMessage<M extends object = Message> {
  readonly id: string
  /** When it was appended. */
  readonly at: string
  /** How many messages lead to it, itself included. */
  readonly depth: number
  /** The number of the archive that holds it; null if it is live. */
  readonly archive: number | null
  /** Whether its content is not the first one. */
  readonly replaced: boolean
  /** True if its content was erased, with every earlier content that it had. `message` is then a marker with the role and no content. */
  readonly erased?: boolean
  /**
   * Of `message` and the last of `revisions`: what cannot be read and may have replaced or erased this content. Left out if there is nothing.
   * After the damage was accepted, it is left out too.
   */
  readonly damage?: readonly DamagedPlace[]
  /** The message as it was appended. Holdfast checks that it is JSON, and trusts you for its type. */
  readonly message: M
}

/** A message as it is read from a journal, before a session gives it the caller's type. */
export type KeptMessage = StoredMessage<JsonObject>
