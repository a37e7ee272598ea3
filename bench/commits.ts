import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from '../src/commit/worker.ts'
import type { KeepOptions } from '../src/store/lifecycle/keep-options.ts'
import { openStore } from '../src/store/open-store.ts'
import type { Session } from '../src/store/session.ts'
import type { Store } from '../src/store/store.ts'
import { type Benchmark, figure, interleave, median, rateOf, ratios } from './harness.ts'
import { TEXT } from './session.ts'

const DRAINER = fileURLToPath(new URL('./drainer.js', import.meta.url))
const MESSAGE = { role: 'assistant', content: TEXT }
const LIVE = 200
const TASK_MESSAGES = 50

export const commits: Benchmark = {
  name: 'commits',
  about:
    'A commit against one append, in a session of 100,000 messages; the window of a session with 100,000 archived and 200 live messages against one with ' +
    `only the 200; and a worker process that drains sessions with ${TASK_MESSAGES} messages of 1 KiB to archive each, up to the last task that it ` +
    'completes, while this process appends; the same with two.',
  run: async ({ directory, quick }) => {
    const store = await openStore(join(directory, 'sessions'))
    const long = store.session('long')
    await archive(store, long, quick ? 10_000 : 100_000)
    await append(long, LIVE)
    const short = store.session('short')
    await append(short, LIVE)

    const windows = await interleave(quick ? 3 : 15, { short: () => timed(() => short.window()), long: () => timed(() => long.window()) })
    const times = quick ? 10 : 200
    // There must be something to take: a commit that takes nothing writes nothing.
    const committed = async (retention: KeepOptions): Promise<number> => {
      await long.append(MESSAGE)
      return timed(() => long.commit(retention))
    }
    const appended = () => timed(() => long.append(MESSAGE))
    const requests = await interleave(times, { append: appended, commit: () => committed({}) })
    await append(long, 4)
    const keeping = await interleave(times, { append: appended, commit: () => committed({ keep: 4 }) })
    await new Worker(store).drain()
    const many = quick ? 200 : 1000
    const one = await drain(store, join(directory, 'sessions'), { count: many, workers: 1 })
    const two = await drain(store, join(directory, 'sessions'), { count: many, workers: 2 })
    await store.close()
    return [
      figure('commit in a long session', 'ms', requests.commit),
      figure('commit against one append', 'times', [median(requests.commit) / median(requests.append)], { is: 'at most', value: 2 }),
      figure('commit that keeps 4 messages, which it reads, against one append', 'times', [
        median(keeping.commit) / median(keeping.append),
      ]),
      figure('window with 200 live messages', 'ms', windows.short),
      figure('window with 100,000 archived ones too, against that', 'times', ratios(windows.long, windows.short), {
        is: 'at most',
        value: 1.5,
      }),
      figure('tasks drained by a worker that has just begun', 'tasks/s', [one.cold.tasks]),
      figure('tasks drained by one that runs already', 'tasks/s', [one.warm.tasks], { is: 'at least', value: 400 }),
      figure('appends meanwhile, against appends alone', 'times', [one.warm.appends], { is: 'at least', value: 0.5 }),
      figure('tasks drained by two of them', 'tasks/s', [two.warm.tasks]),
      figure('appends meanwhile, against appends alone', 'times', [two.warm.appends]),
    ]
  },
}

async function append(session: Session, count: number): Promise<void> {
  for (let i = 0; i < count; i += 100) await Promise.all(Array.from({ length: Math.min(100, count - i) }, () => session.append(MESSAGE)))
}

/** Messages in archives of a thousand, summarised. */
async function archive(store: Store, session: Session, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1000) {
    await append(session, 1000)
    await session.commit()
  }
  await new Worker(store).drain()
}

interface Drained {
  readonly tasks: number
  readonly appends: number
}

/**
 * Sessions with one task each are worked on by others, while this process appends; twice, because what a process has to compile is done by the
 * first time, and a worker is there for weeks.
 */
async function drain(
  store: Store,
  directory: string,
  { count, workers }: { readonly count: number; readonly workers: number },
): Promise<{ cold: Drained; warm: Drained }> {
  const children = Array.from({ length: workers }, () => fork(DRAINER, [directory]))
  await Promise.all(children.map((child) => once(child, 'message')))
  const cold = await drainOnce(store, children, { count, round: `${workers}, first` })
  const warm = await drainOnce(store, children, { count, round: `${workers}, second` })
  for (const child of children) child.disconnect()
  await Promise.all(children.map((child) => once(child, 'exit')))
  return { cold, warm }
}

async function drainOnce(
  store: Store,
  children: readonly ChildProcess[],
  { count, round }: { readonly count: number; readonly round: string },
): Promise<Drained> {
  for (let i = 0; i < count; i++) {
    const session = store.session(`${round} ${i}`)
    await session.append(Array.from({ length: TASK_MESSAGES }, () => MESSAGE))
    await session.commit()
  }
  // Otherwise the catalog would be brought up to date meanwhile.
  await store.list({ limit: 1 })
  const session = store.session('other')
  const alone = await rateOf(2000, () => session.append(MESSAGE))
  let ended = false
  const begun = Date.now()
  const drained = Promise.all(
    children.map(async (child) => {
      child.send('go')
      const [{ completed, last }] = (await once(child, 'message')) as [{ completed: number; last: number }]
      return { completed, last }
    }),
  ).finally(() => {
    ended = true
  })
  let appended = 0
  const started = performance.now()
  while (!ended) {
    await session.append(MESSAGE)
    appended++
  }
  const meanwhile = (appended * 1000) / (performance.now() - started)
  const all = await drained
  const tasks = all.reduce((sum, { completed }) => sum + completed, 0)
  if (tasks !== count) throw new Error(`${tasks} tasks instead of ${count}.`)
  return { tasks: (tasks * 1000) / (Math.max(...all.map(({ last }) => last)) - begun), appends: meanwhile / alone }
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await call()
  return performance.now() - started
}
