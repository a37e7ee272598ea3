import { HumanMessage } from '@langchain/core/messages'
import { HoldfastChatMessageHistory } from '../../../src/adapters/langchain/index.ts'
import type { Calls } from './calls.ts'

export const calls: Calls = (store) => {
  const history = new HoldfastChatMessageHistory({ store, sessionId: 'shared' })
  return (id) => history.addMessage(new HumanMessage(id))
}
