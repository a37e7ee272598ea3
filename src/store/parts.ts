/** What the sessions of one store share. */
import type { CatalogDoor } from '../catalog/door.ts'
import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { Engine } from '../engine/port.ts'
import type { Replicas } from './replicas.ts'

export interface StoreParts {
  readonly engine: Engine
  readonly clock: Clock
  readonly ids: Ids
  readonly replicas: Replicas
  readonly catalog: CatalogDoor
  readonly space: string
}
