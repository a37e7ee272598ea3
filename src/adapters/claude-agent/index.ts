/** `holdfast/adapters/claude-agent`: the session store of `@anthropic-ai/claude-agent-sdk`, kept by Holdfast. */
export type { AdapterSession, AdapterStore, DamageOptions, OnDamage } from '../sessions.ts'
export { HoldfastSessionStore, type HoldfastSessionStoreOptions } from './session-store.ts'
