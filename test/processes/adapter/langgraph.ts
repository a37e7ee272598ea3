import { HumanMessage } from '@langchain/core/messages'
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { HoldfastSaver } from '../../../src/adapters/langgraph/index.ts'
import type { Calls } from './calls.ts'

export const calls: Calls = (store) => {
  const saver = new HoldfastSaver({ store })
  const messages: HumanMessage[] = []
  let config = { configurable: { thread_id: 'shared', checkpoint_ns: '' } } as Awaited<ReturnType<HoldfastSaver['put']>>
  return async (id) => {
    messages.push(new HumanMessage({ id, content: id }))
    const version = messages.length
    const channel_versions = { messages: version, last: version }
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(version),
      channel_versions,
      channel_values: { messages: [...messages], last: id },
    }
    config = await saver.put(config, checkpoint, { source: 'loop', step: version, parents: {} }, channel_versions)
    await saver.putWrites(config, [['last', id]], `task ${id}`)
  }
}
