import type { SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk'
import { HoldfastSessionStore } from '../../../src/adapters/claude-agent/index.ts'
import type { Calls } from './calls.ts'

export const calls: Calls = (store) => {
  const sessions = new HoldfastSessionStore({ store })
  const key = { projectKey: 'project', sessionId: 'shared' }
  const line = (id: string): SessionStoreEntry => ({ type: 'user', uuid: id, message: { role: 'user', content: id } })
  return (id) => sessions.append(key, [line(id), { type: 'mark', of: id }])
}
