import { HoldfastStore } from '../../../src/adapters/langgraph/index.ts'
import type { Calls } from './calls.ts'

export const calls: Calls = (store, name) => {
  const items = new HoldfastStore({ store })
  return (id) => items.put(['shared', name], id, { said: id })
}
