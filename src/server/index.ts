/** A server on a store: `holdfast/server`. */

export { type Claims, type KeyRecord, KeyRing, type NewKey } from './keys.ts'
export { Metrics, type Readings } from './metrics.ts'
export type { Scope } from './principal.ts'
export { Server, type ServerOptions } from './server.ts'
