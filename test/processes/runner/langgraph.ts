import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { Command, END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { HoldfastSaver } from '../../../src/adapters/langgraph/index.ts'
import type { Life } from './life.ts'

/** Plans, asks a person, acts. */
export async function run({ store, says, step }: Life): Promise<unknown> {
  const message = (id: string, content: string) => ({ messages: [new AIMessage({ id, content })] })
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('plan', async () => {
      await step('plan')
      return message('plan', 'a plan')
    })
    .addNode('ask', async () => {
      await step('ask')
      return message('answer', `you said ${interrupt('May I?') as string}`)
    })
    .addNode('act', async () => {
      await step('act')
      return message('act', 'done')
    })
    .addEdge(START, 'plan')
    .addEdge('plan', 'ask')
    .addEdge('ask', 'act')
    .addEdge('act', END)
    .compile({ checkpointer: new HoldfastSaver({ store }) })
  // A step begins once the checkpoint before it is on the disk.
  const config = { configurable: { thread_id: 'shared' }, durability: 'sync' as const }
  const { next, tasks } = await graph.getState(config)
  const waits = tasks.some(({ interrupts }) => interrupts.length > 0)
  const input = { messages: [new HumanMessage({ id: 'human', content: 'go' })] }
  const begun = next.length > 0
  // With nothing new it goes on where it was; a graph that waits for a person is told what the person says.
  const { messages } = await graph.invoke(waits && says !== undefined ? new Command({ resume: says }) : begun ? null : input, config)
  const history = []
  for await (const state of graph.getStateHistory(config)) history.push(state.values.messages?.length ?? 0)
  return { messages: messages.map(({ content }) => content), history, next: (await graph.getState(config)).next }
}
