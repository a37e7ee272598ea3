import { HoldfastSession } from '../../../src/adapters/openai-agents/index.ts'
import type { Calls } from './calls.ts'

export const calls: Calls = (store) => {
  const session = new HoldfastSession({ store, sessionId: 'shared' })
  return (id) => session.addItems([{ role: 'user', content: id }])
}
