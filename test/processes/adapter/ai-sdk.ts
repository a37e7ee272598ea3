import type { UIMessageChunk } from 'ai'
import { HoldfastChat } from '../../../src/adapters/ai-sdk/index.ts'
import type { StoreApi } from '../../../src/client/index.ts'
import { testIsDone } from '../child.ts'

/** Says a word every few milliseconds, and tells of each. */
export async function streamForEver(store: StoreApi): Promise<void> {
  let over = false
  const done = testIsDone().then(() => {
    over = true
  })
  const chat = new HoldfastChat({ store, chatId: 'shared' })
  await chat.respond({
    message: { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
    execute: () =>
      new ReadableStream<UIMessageChunk>({
        start: async (controller) => {
          controller.enqueue({ type: 'start', messageId: 'a1' })
          controller.enqueue({ type: 'text-start', id: 't' })
          for (let n = 0; !over; n++) {
            controller.enqueue({ type: 'text-delta', id: 't', delta: `${n} ` })
            console.log(`done ${n}`)
            await new Promise((resolve) => setTimeout(resolve, 20))
          }
        },
      }),
  })
  await done
}
