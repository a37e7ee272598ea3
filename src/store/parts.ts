/** What the sessions of one store share. */
import type { CatalogDoor } from '../catalog/door.ts'
import type { DataKeys } from '../encryption/data-keys.ts'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { Engine } from '../engine/port.ts'
import type { Replicas } from '../journal/replicas.ts'
import type { SessionState } from '../session/state.ts'
import type { BeforeAppend } from './messages/before-append.ts'
import type { QuotaPort } from './quotas/quota-port.ts'

export interface StoreParts {
  readonly engine: Engine
  readonly clock: Clock
  readonly ids: Ids
  readonly replicas: Replicas<SessionState>
  readonly catalog: CatalogDoor
  readonly space: string
  /** Finishes what a process has left undone in a session when it died: erasures. */
  readonly recover: (parts: StoreParts, id: string) => Promise<void>
  /** Sees what is said before it is written. */
  readonly beforeAppend?: BeforeAppend
  /** How much spaces may hold, where that is enforced. */
  readonly quotas?: QuotaPort
  /** The key of a server that everything is done with, if what it adds is counted. */
  readonly key?: string
  /** The keys of sessions, where the store is encrypted. */
  readonly dataKeys?: DataKeys | undefined
}
