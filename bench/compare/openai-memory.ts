import type { AgentInputItem, MemorySession } from '@openai/agents-core'
import type { Contender, Message, Sessions } from './contender.ts'

export const openaiMemory: Contender = {
  name: 'OpenAI memory',
  about: "`MemorySession` of OpenAI's agents, one for each session, in the memory of the process",
  keeps: 'memory',
  open: async () => {
    const agents = await import('@openai/agents-core')
    return new MemorySessions((sessionId) => new agents.MemorySession({ sessionId }))
  },
}

class MemorySessions implements Sessions {
  /** In the order of their last change. */
  readonly #sessions = new Map<string, MemorySession>()
  readonly #make: (id: string) => MemorySession

  constructor(make: (id: string) => MemorySession) {
    this.#make = make
  }

  append(id: string, message: Message): Promise<void> {
    return this.fill(id, [message])
  }

  async fill(id: string, messages: readonly Message[]): Promise<void> {
    const session = this.#sessions.get(id) ?? this.#make(id)
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    await session.addItems(messages as unknown as AgentInputItem[])
  }

  async messages(id: string, last?: number): Promise<Message[]> {
    return ((await this.#sessions.get(id)?.getItems(last)) ?? []) as unknown as Message[]
  }

  async list(limit: number): Promise<string[]> {
    return [...this.#sessions.keys()].reverse().slice(0, limit)
  }

  async search(word: string, limit: number): Promise<string[]> {
    const found: string[] = []
    for (const id of this.#sessions.keys()) {
      const messages = await this.messages(id)
      found.push(...messages.filter(({ content }) => content.includes(word)).map((message) => message.id))
      if (found.length >= limit) break
    }
    return found
  }

  async fork(id: string, as: string): Promise<void> {
    await this.fill(as, await this.messages(id))
  }

  async close(): Promise<void> {
    this.#sessions.clear()
  }
}
