/** A server on a store: `holdfast/server`. */

export { ApiKeys, type Claims, type KeyRecord, type NewKey } from './api-keys.ts'
export type { GroupWrite, WriteObserver } from './metered-engine.ts'
export { Metrics, type Readings } from './metrics.ts'
export type { Scope } from './principal.ts'
export { Server, type ServerOptions } from './server.ts'
