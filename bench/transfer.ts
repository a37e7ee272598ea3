import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sourcesAt } from '../src/cli/sources.ts'
import { openStore } from '../src/store/open-store.ts'
import { residentBytes } from './child-server.ts'
import { type Benchmark, figure } from './harness.ts'
import { TEXT } from './session.ts'

/** Messages in one file, with about 1 KiB each. */
const MESSAGES = 200_000
const QUICK_MESSAGES = 20_000
/** As many as make a file of 1 GB. */
const LARGE_MESSAGES = 1_000_000
const MAIN = fileURLToPath(new URL('../../dist/cli/start.cjs', import.meta.url))

export const transfer: Benchmark = {
  name: 'transfer',
  about: 'Import of a JSONL file of messages of about 1 KiB into a store on the disk, durable when it is told; then export of the same.',
  run: async ({ directory, quick }) => {
    const count = quick ? QUICK_MESSAGES : MESSAGES
    const file = join(directory, 'chat.jsonl')
    await writeChat(file, count)
    const [imports, exports]: number[][] = [[], []]
    for (let round = 0; round < (quick ? 2 : 3); round++) {
      const place = join(directory, `store-${round}`)
      const store = await openStore(place)
      const begun = performance.now()
      for await (const { messages } of store.import(sourcesAt([file]))) if (messages !== count) throw new Error(`${messages} were imported`)
      imports?.push((1000 * count) / (performance.now() - begun))
      const from = performance.now()
      let length = 0
      for await (const piece of store.export()) length += piece.length
      if (length < 980 * count) throw new Error(`${length} characters were exported`)
      exports?.push((1000 * count) / (performance.now() - from))
      await store.close()
      await rm(place, { recursive: true })
    }
    await rm(file)
    const large = quick ? QUICK_MESSAGES : LARGE_MESSAGES
    await writeChat(file, large)
    const megabytes = await memoryOf(join(directory, 'large'), file, large)
    return [
      figure('import from JSONL', 'messages/s', imports ?? [], { is: 'at least', value: 40_000 }),
      figure(`memory of the command that imports ${large.toLocaleString('en')} messages from one file`, 'MB', [megabytes], {
        is: 'at most',
        value: 300,
      }),
      figure('export to JSONL', 'messages/s', exports ?? [], { is: 'at least', value: 80_000 }),
    ]
  },
}

/** The most memory that the command takes, as it is installed: `npm run bench` builds it. */
async function memoryOf(place: string, file: string, count: number): Promise<number> {
  const child = spawn(process.execPath, [MAIN, 'import', file, '--json', '--store', place], { stdio: ['ignore', 'pipe', 'ignore'] })
  let [most, told] = [0, '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (told += text))
  const watch = setInterval(() => {
    if (child.exitCode !== null) return
    // Of one that has just ended nothing can be told.
    const now = residentBytes(child.pid as number)
    if (now > most) most = now
  }, 20)
  await once(child, 'close')
  clearInterval(watch)
  if (!told.includes(`"messages":${count}`)) throw new Error(`It told: ${told}`)
  return most / 1_000_000
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
