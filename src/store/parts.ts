/** What the sessions of one store share. */
import type { CatalogDoor } from '../catalog/door.ts'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { Engine } from '../engine/port.ts'
import type { BeforeAppend } from './admission.ts'
import type { Keyring } from './encryption/keyring.ts'
import type { Quotas } from './quotas.ts'
import type { Replicas } from './replicas.ts'

/** The space of the store's own facts, out of reach of everybody who was given a space. */
export const STORE_SPACE = '_store'

export interface StoreParts {
  readonly engine: Engine
  readonly clock: Clock
  readonly ids: Ids
  readonly replicas: Replicas
  readonly catalog: CatalogDoor
  readonly space: string
  /** Sees what is said before it is written. */
  readonly beforeAppend?: BeforeAppend
  /** How much spaces may hold, where that is enforced. */
  readonly quotas?: Quotas
  /** The key of a server that everything is done with, if what it adds is counted. */
  readonly key?: string
  /** The keys of sessions, where the store is encrypted. */
  readonly keyring?: Keyring
}
