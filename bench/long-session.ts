import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore } from '../src/store/open-store.ts'
import type { Store } from '../src/store/store.ts'
import { type Benchmark, figure, interleave, median } from './harness.ts'
import { TEXT } from './session.ts'

const SHORT = 100
const BATCH = 100

export const longSession: Benchmark = {
  name: 'long-session',
  about:
    'What must not cost more in a long session: opening it and reading its last 20 messages (200,000 messages against 100), setting its title ' +
    '(against one append), forking it (100,000 messages against 10).',
  run: async ({ directory, quick }) => {
    const long = quick ? 20_000 : 200_000
    const store = await openStore(directory)
    await fill(store, 'long', long)
    await fill(store, 'short', SHORT)
    await fill(store, 'half', long / 2)
    await fill(store, 'tiny', 10)
    const opened = await interleave(quick ? 5 : 25, { short: () => openAnew(directory, 'short'), long: () => openAnew(directory, 'long') })

    const session = store.session('half')
    const message = { role: 'assistant', content: TEXT }
    const titled = await interleave(quick ? 3 : 9, {
      title: () => medianOf(quick ? 20 : 100, (i) => session.describe({ title: `Title ${i}` })),
      append: () => medianOf(quick ? 20 : 100, () => session.append(message)),
    })

    const before = await bytesOf(directory)
    let forks = 0
    const forkOf = async (id: string): Promise<number> => {
      const parent = store.session(id)
      return medianOf(quick ? 5 : 20, () => {
        forks++
        return parent.fork()
      })
    }
    const forked = await interleave(quick ? 3 : 9, { tiny: () => forkOf('tiny'), half: () => forkOf('half') })
    const written = (await bytesOf(directory)) - before
    await store.close()

    const ratio = (of: readonly number[], against: readonly number[]) => of.map((value, i) => value / (against[i] as number))
    return [
      figure('open and read 20, 100 messages', 'ms', opened.short),
      figure(`open and read 20, ${long.toLocaleString('en')} messages`, 'ms', opened.long),
      figure('long against short', 'times', ratio(opened.long, opened.short), { is: 'at most', value: 3 }),
      figure('title of a long session against one append', 'times', ratio(titled.title, titled.append), { is: 'at most', value: 1.5 }),
      figure('fork of a session of 10', 'ms', forked.tiny),
      figure('fork of a long session against one of 10', 'times', ratio(forked.half, forked.tiny), { is: 'at most', value: 2 }),
      figure('written for one fork', 'KiB', [written / forks / 1024], { is: 'at most', value: 4 }),
    ]
  },
}

async function fill(store: Store, id: string, count: number): Promise<void> {
  const session = store.session(id)
  const message = { role: 'assistant', content: TEXT }
  const batches = Array.from({ length: Math.ceil(count / BATCH) }, (_, i) => Math.min(BATCH, count - i * BATCH))
  // One by one inside a batch, as agents write them: a record for each message.
  for (const size of batches) await Promise.all(Array.from({ length: size }, () => session.append(message)))
}

async function openAnew(directory: string, id: string): Promise<number> {
  const started = performance.now()
  const store = await openStore(directory)
  const { messages } = await store.session(id).messages({ limit: 20 })
  const elapsed = performance.now() - started
  if (messages.length !== 20) throw new Error(`${messages.length} messages instead of 20.`)
  await store.close()
  return elapsed
}

async function medianOf(times: number, call: (i: number) => Promise<unknown>): Promise<number> {
  const samples: number[] = []
  for (let i = 0; i < times; i++) {
    const started = performance.now()
    await call(i)
    samples.push(performance.now() - started)
  }
  return median(samples)
}

/** The length of all journals. */
async function bytesOf(directory: string): Promise<number> {
  const files = await readdir(join(directory, 'sessions'), { recursive: true, withFileTypes: true })
  const sizes = files.filter(({ name }) => name.endsWith('.jsonl')).map(async (file) => (await stat(join(file.parentPath, file.name))).size)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
