import { openStore } from '../src/store/open-store.ts'
import { type Benchmark, figure } from './harness.ts'

export const manySessions: Benchmark = {
  name: 'many-sessions',
  about: 'How much the memory of one process grows while it touches 10,000 sessions: one append and one read each.',
  run: async ({ directory, quick }) => {
    const count = quick ? 1000 : 10_000
    const store = await openStore(directory)
    const touch = async (id: string): Promise<void> => {
      const session = store.session(id)
      await session.append({ role: 'user', content: 'Hold fast.' })
      await session.messages({ limit: 1 })
    }
    // What the first ones take is the program itself.
    for (let i = 0; i < 200; i++) await touch(`warm ${i}`)
    const before = memory()
    for (let i = 0; i < count; i += 16) await Promise.all(Array.from({ length: 16 }, (_, j) => touch(`session ${i + j}`)))
    const grown = (memory() - before) / 1024 / 1024
    await store.close()
    return [figure(`${count.toLocaleString('en')} sessions touched`, 'MB', [grown], { is: 'at most', value: 150 })]
  },
}

function memory(): number {
  globalThis.gc?.()
  return process.memoryUsage().rss
}
