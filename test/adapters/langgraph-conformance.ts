/**
 * The framework's own conformance suite, all of it. It wants the words of a test runner to be global, and a name that it knows no
 * exceptions for.
 */
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { HoldfastSaver } from '../../src/adapters/langgraph/index.ts'
import type { Opener } from './openers.ts'

export function testConformance({ name, open }: Opener): void {
  Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it })
  const closings = new Map<HoldfastSaver, () => Promise<void>>()
  const initializer = {
    checkpointerName: `holdfast on ${name}`,
    createCheckpointer: async () => {
      const { store, close } = await open()
      const saver = new HoldfastSaver({ store })
      closings.set(saver, close)
      return saver
    },
    destroyCheckpointer: async (saver: HoldfastSaver) => {
      await closings.get(saver)?.()
      closings.delete(saver)
    },
  }
  validate(initializer)
  deltaChannelHistoryTests(initializer)
}
