import type { StoreApi } from '../../../src/client/index.ts'

export type AdapterName = 'openai-agents' | 'langgraph' | 'langgraph-store' | 'claude-agent' | 'ai-sdk' | 'langchain' | 'mcp'

/** One call of the adapter; `id` is what can be looked for afterwards. */
export type Call = (id: string) => Promise<unknown>

/** What makes the calls of one process, which has a name. */
export type Calls = (store: StoreApi, name: string) => Call
