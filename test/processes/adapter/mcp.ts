import { HoldfastEventStore } from '../../../src/adapters/mcp/index.ts'
import type { Calls } from './calls.ts'

export const calls: Calls = (store) => {
  const events = new HoldfastEventStore({ store })
  return (id) => events.storeEvent('shared', { jsonrpc: '2.0', id, result: { said: id } })
}
