import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openStore } from '../src/store/open-store.ts'
import type { Store } from '../src/store/store.ts'
import { exportFrom } from '../src/transfer/export/export.ts'
import { importInto } from '../src/transfer/import/import.ts'
import { sourcesAt } from '../src/transfer/sources.ts'
import { residentBytes } from './child-server.ts'
import { CHAT, type ForeignLog, LOGS, writeLog } from './foreign-logs.ts'
import { type Benchmark, type Figure, figure } from './harness.ts'

/** Messages in one file, with about 1 KiB each. */
const MESSAGES = 200_000
const QUICK_MESSAGES = 20_000
/** As many as make a file of 1 GB. */
const LARGE_MESSAGES = 1_000_000
const MAIN = fileURLToPath(new URL('../../dist/cli/start.cjs', import.meta.url))

export const transfer: Benchmark = {
  name: 'transfer',
  about:
    'Import of one JSONL file of messages of about 1 KiB into a store on the disk, durable when it is told, of each format that is one; export of the same; and the ' +
    'memory of the command that imports a file of 1 GB.',
  run: async ({ directory, quick }) => {
    const count = quick ? QUICK_MESSAGES : MESSAGES
    const rounds = quick ? 2 : 3
    const exports: number[] = []
    const figures: Figure[] = []
    for (const log of LOGS) {
      const file = join(directory, log.name)
      await writeLog(file, log, count)
      const imports: number[] = []
      for (let round = 0; round < rounds; round++) {
        const place = join(directory, 'store')
        const store = await openStore(place)
        imports.push(await importRate(store, file, log, count))
        if (log === CHAT) exports.push(await exportRate(store, count))
        await store.close()
        await rm(place, { recursive: true })
      }
      await rm(file)
      figures.push(figure(`import from JSONL of ${log.format}`, 'messages/s', imports, { is: 'at least', value: 40_000 }))
    }
    const large = quick ? QUICK_MESSAGES : LARGE_MESSAGES
    const file = join(directory, CHAT.name)
    await writeLog(file, CHAT, large)
    const megabytes = await memoryOf(join(directory, 'large'), file, large)
    return [
      ...figures,
      figure(`memory of the command that imports ${large.toLocaleString('en')} messages from one file`, 'MB', [megabytes], {
        is: 'at most',
        value: 300,
      }),
      figure('export to JSONL', 'messages/s', exports, { is: 'at least', value: 80_000 }),
    ]
  },
}

async function importRate(store: Store, file: string, { format }: ForeignLog, count: number): Promise<number> {
  const begun = performance.now()
  for await (const { messages, ...report } of importInto(store, sourcesAt([file]))) {
    if (messages !== count || report.format !== format) throw new Error(`${messages} were imported from ${report.format}`)
  }
  return (1000 * count) / (performance.now() - begun)
}

async function exportRate(store: Store, count: number): Promise<number> {
  const begun = performance.now()
  let length = 0
  for await (const piece of exportFrom(store)) length += piece.length
  if (length < 980 * count) throw new Error(`${length} characters were exported`)
  return (1000 * count) / (performance.now() - begun)
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
