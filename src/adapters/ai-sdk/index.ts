/** `holdfast/adapters/ai-sdk`: chats of the AI SDK with streams that can be resumed, kept by Holdfast. */
export type { AdapterSession, AdapterStore, DamageOptions, OnDamage } from '../sessions.ts'
export { HoldfastChat, type HoldfastChatOptions, type RespondOptions } from './chat.ts'
