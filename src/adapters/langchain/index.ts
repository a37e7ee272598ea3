/** `holdfast/adapters/langchain`: the chat history of LangChain, kept by Holdfast. */
export type { AdapterSession, AdapterStore, DamageOptions, OnDamage } from '../sessions.ts'
export { HoldfastChatMessageHistory, type HoldfastChatMessageHistoryOptions } from './history.ts'
