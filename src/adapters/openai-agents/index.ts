/** `holdfast/adapters/openai-agents`: the session of `@openai/agents`, kept by Holdfast. */
export type { AdapterSession, AdapterStore, DamageOptions, OnDamage } from '../sessions.ts'
export { HoldfastSession, type HoldfastSessionOptions } from './session.ts'
