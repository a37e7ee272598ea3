/** A server on a store: `holdfast/server`. */

export { type KeyRecord, KeyRing, type NewKey } from './keys.ts'
export { Metrics } from './metrics.ts'
export type { Scope } from './principal.ts'
export { Server, type ServerOptions } from './server.ts'
