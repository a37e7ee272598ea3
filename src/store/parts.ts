/** What the sessions of one store share. A module asks for the smallest of these that serves. */
import type { CatalogAccess } from '../catalog/catalog-access.ts'
import type { DataKeys } from '../encryption/data-keys.ts'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { Engine } from '../engine/port.ts'
import type { Replicas } from '../journal/replicas.ts'
import type { SessionState } from '../session/state.ts'
import type { BeforeAppend } from './messages/before-append.ts'
import type { QuotaPort } from './quotas/quota-port.ts'

/** Reads the journals of one space. */
export interface SpaceParts {
  readonly engine: Engine
  readonly replicas: Replicas<SessionState>
  readonly space: string
}

/** Asks the catalog about one space. */
export interface CatalogParts {
  readonly catalog: CatalogAccess
  readonly space: string
}

/** Reads and changes sessions of one space. */
export interface SessionParts extends SpaceParts, CatalogParts {
  readonly clock: Clock
  /** Finishes what a process left undone in a session when it died: erasures. */
  readonly recover: (parts: SessionParts, id: string) => Promise<void>
  /** The keys of sessions, if the store is encrypted. */
  readonly dataKeys?: DataKeys | undefined
}

/** Decides what may be written to one space. */
export interface AdmissionParts {
  readonly space: string
  /** Sees each message before it is written. */
  readonly beforeAppend?: BeforeAppend
  /** How much spaces may hold, if that is enforced. */
  readonly quotas?: QuotaPort
  /** The key of a server that everything is done with, if what it adds is counted. */
  readonly key?: string
}

/** Writes messages and entries. */
export interface WriterParts extends SessionParts, AdmissionParts {}

export interface StoreParts extends WriterParts {
  readonly ids: Ids
  /** Connections for which the process of the store has descriptors. Undefined if that is unknown. */
  readonly connections?: number | undefined
}
