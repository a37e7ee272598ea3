/** `holdfast/adapters/claude-agent`: the session store of `@anthropic-ai/claude-agent-sdk`, kept by Holdfast. */
export type { AdapterStore } from '../sessions.ts'
export { HoldfastSessionStore, type HoldfastSessionStoreOptions } from './session-store.ts'
