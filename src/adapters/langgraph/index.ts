/** `holdfast/adapters/langgraph`: the checkpointer and the store of LangGraph, kept by Holdfast. */
export type { AdapterSession, AdapterStore, DamageOptions, OnDamage } from '../sessions.ts'
export { HoldfastSaver, type HoldfastSaverOptions, type PruneOptions } from './saver.ts'
export { HoldfastStore, type HoldfastStoreOptions } from './store.ts'
