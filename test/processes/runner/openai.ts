import { Agent, type Model, type ModelResponse, Runner, tool, Usage } from '@openai/agents-core'
import { z } from 'zod'
import { HoldfastSession } from '../../../src/adapters/openai-agents/index.ts'
import type { Life } from './life.ts'

/** Looks something up with a tool, and answers. */
export async function run({ store, says, step }: Life): Promise<unknown> {
  const output: ModelResponse['output'][] = [
    [{ type: 'function_call', callId: `call of ${says}`, name: 'look', arguments: '{"place":"Graz"}' }],
    [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: `answer to ${says}` }] }],
  ]
  const model: Model = {
    getResponse: async () => {
      await step('model')
      return { usage: new Usage(), output: output.shift() ?? [] }
    },
    getStreamedResponse: () => {
      throw new Error('nobody streams here')
    },
  }
  const execute = async (): Promise<string> => {
    await step('tool')
    return 'rain'
  }
  const look = tool({ name: 'look', description: 'looks', parameters: z.object({ place: z.string() }), execute })
  const session = new HoldfastSession({ store, sessionId: 'shared' })
  const agent = new Agent({ name: 'weather', model, tools: [look] })
  await new Runner({ tracingDisabled: true }).run(agent, says ?? '', { session })
  await step('end')
  return session.getItems()
}
