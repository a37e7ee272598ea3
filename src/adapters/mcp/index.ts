/** `holdfast/adapters/mcp`: what a server of the Model Context Protocol needs to keep. The server of Holdfast itself is `holdfast mcp`. */
export type { AdapterSession, AdapterStore, DamageOptions, OnDamage } from '../sessions.ts'
export { HoldfastEventStore, type HoldfastEventStoreOptions } from './event-store.ts'
