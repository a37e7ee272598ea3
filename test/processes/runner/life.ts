import type { StoreApi } from '../../../src/client/index.ts'

export type RunnerName = 'langgraph' | 'openai' | 'ai-sdk'

export interface Life {
  readonly store: StoreApi
  /** What a person says to it in this life. */
  readonly says: string | undefined
  /** Is told before each step; if it is the last one, that never resolves. */
  readonly step: (name: string) => Promise<void>
}
