/** `holdfast/adapters/langchain`: the chat history of LangChain, kept by Holdfast. */
export type { AdapterStore } from '../sessions.ts'
export { HoldfastChatMessageHistory, type HoldfastChatMessageHistoryOptions } from './history.ts'
