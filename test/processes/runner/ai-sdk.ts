import { convertToModelMessages, stepCountIs, streamText, tool } from 'ai'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import { z } from 'zod'
import { HoldfastChat } from '../../../src/adapters/ai-sdk/index.ts'
import type { Life } from './life.ts'

/** The same with the AI SDK, its answer streamed and kept. */
export async function run({ store, says, step }: Life): Promise<unknown> {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  const finish = (unified: 'stop' | 'tool-calls') => ({ type: 'finish' as const, finishReason: { unified, raw: unified }, usage })
  const call = { type: 'tool-call' as const, toolCallId: `call of ${says}`, toolName: 'look', input: '{"place":"Graz"}' }
  const text = ['text-start', 'text-delta', 'text-end'] as const
  const turns = [
    [call, finish('tool-calls')],
    [...text.map((type) => (type === 'text-delta' ? { type, id: 't', delta: `answer to ${says}` } : { type, id: 't' })), finish('stop')],
  ]
  const model = new MockLanguageModelV3({
    doStream: async () => {
      await step('model')
      return { stream: simulateReadableStream({ chunks: [{ type: 'stream-start', warnings: [] }, ...(turns.shift() ?? [])] as never[] }) }
    },
  })
  const execute = async (): Promise<string> => {
    await step('tool')
    return 'rain'
  }
  const tools = { look: tool({ description: 'looks', inputSchema: z.object({ place: z.string() }), execute }) }
  const chat = new HoldfastChat({ store, chatId: 'shared' })
  const stream = await chat.respond({
    message: { id: `${says}`, role: 'user', parts: [{ type: 'text', text: `${says}` }] },
    generateId: () => `answer to ${says}`,
    execute: async ({ messages, abortSignal }) =>
      streamText({
        model,
        tools,
        abortSignal,
        stopWhen: stepCountIs(5),
        messages: await convertToModelMessages(messages),
      }).toUIMessageStream(),
  })
  for await (const _ of stream);
  // The answer is kept after its last chunk was shown.
  while ((await chat.load()).at(-1)?.id !== `answer to ${says}`) await new Promise((resolve) => setTimeout(resolve, 20))
  await step('end')
  return chat.load()
}
