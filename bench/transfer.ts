import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sourcesAt } from '../src/cli/sources.ts'
import { openStore } from '../src/store/open-store.ts'
import { type Benchmark, figure } from './harness.ts'
import { TEXT } from './session.ts'

/** Messages in one file, with about 1 KiB each. */
const MESSAGES = 200_000
const QUICK_MESSAGES = 20_000

export const transfer: Benchmark = {
  name: 'transfer',
  about: 'Import of a JSONL file of messages of about 1 KiB into a store on the disk, durable when it is told; then export of the same.',
  run: async ({ directory, quick }) => {
    const count = quick ? QUICK_MESSAGES : MESSAGES
    const file = join(directory, 'chat.jsonl')
    await writeChat(file, count)
    const [imports, exports, memory]: number[][] = [[], [], []]
    for (let round = 0; round < (quick ? 2 : 3); round++) {
      const place = join(directory, `store-${round}`)
      const store = await openStore(place)
      let most = 0
      const watch = setInterval(() => {
        most = Math.max(most, process.memoryUsage.rss())
      }, 20)
      const begun = performance.now()
      for await (const { messages } of store.import(sourcesAt([file]))) if (messages !== count) throw new Error(`${messages} were imported`)
      imports?.push((1000 * count) / (performance.now() - begun))
      clearInterval(watch)
      memory?.push(most / 1_000_000)
      const from = performance.now()
      let length = 0
      for await (const piece of store.export()) length += piece.length
      if (length < 980 * count) throw new Error(`${length} characters were exported`)
      exports?.push((1000 * count) / (performance.now() - from))
      await store.close()
      await rm(place, { recursive: true })
    }
    return [
      figure('import from JSONL', 'messages/s', imports ?? [], { is: 'at least', value: 40_000 }),
      figure('memory while importing', 'MB', memory ?? [], { is: 'at most', value: 300 }),
      figure('export to JSONL', 'messages/s', exports ?? [], { is: 'at least', value: 80_000 }),
    ]
  },
}

async function writeChat(path: string, count: number): Promise<void> {
  const file = await open(path, 'w')
  try {
    for (let i = 0; i < count; ) {
      let text = ''
      for (const end = Math.min(i + 1000, count); i < end; i++) {
        text += `${JSON.stringify({ role: i % 2 === 0 ? 'user' : 'assistant', content: `${i} ${TEXT}`.padEnd(980, 'and so on ') })}\n`
      }
      await file.write(text)
    }
  } finally {
    await file.close()
  }
}
