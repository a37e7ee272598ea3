import type { Clock } from '../engine/clock.ts'
import type { Ids } from '../engine/ids.ts'
import type { Journal } from '../engine/port.ts'
import type { StoreTime } from '../engine/store-time.ts'
import type { Counted } from '../record/fold.ts'
import type { Limits } from '../record/limits.ts'
import type { LineCipher } from '../record/line-cipher.ts'
import type { IsNamed } from './loss.ts'
import type { Reducer } from './reducer.ts'

export interface ReplicaOptions<S> {
  readonly journal: Journal
  readonly reducer: Reducer<S>
  /** Encrypts what is written, where the store is encrypted. */
  readonly cipher?: LineCipher | undefined
  readonly clock: Clock
  readonly ids: Ids
  /** Orders the changes of the store. Defaults to the clock alone. */
  readonly time?: StoreTime | undefined
  /** Called with each record that is read, in order. */
  readonly witness?: ((counted: Counted) => void) | undefined
  readonly isNamed?: IsNamed | undefined
  readonly limits?: Partial<Pick<Limits, 'segmentBytes' | 'groupTargetBytes' | 'races' | 'queueLength'>>
}
