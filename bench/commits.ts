import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from '../src/commit/worker.ts'
import { openStore } from '../src/store/open-store.ts'
import type { Session } from '../src/store/session.ts'
import type { Store } from '../src/store/store.ts'
import { type Benchmark, figure, interleave, median, rateOf, ratios } from './harness.ts'
import { TEXT } from './session.ts'

const DRAINER = fileURLToPath(new URL('./drainer.js', import.meta.url))
const MESSAGE = { role: 'assistant', content: TEXT }
const LIVE = 200
/** As many as there are cores. */
const DRAINERS = 2
const TASK_MESSAGES = 50

export const commits: Benchmark = {
  name: 'commits',
  about:
    'A commit against one append, in a session of 100,000 messages; the window of a session with 100,000 archived and 200 live messages against one with ' +
    `only the 200; and ${DRAINERS} worker processes that drain sessions with ${TASK_MESSAGES} messages of 1 KiB to archive each, while this process appends.`,
  run: async ({ directory, quick }) => {
    const store = await openStore(join(directory, 'sessions'))
    const long = await store.session('long')
    await archive(store, long, quick ? 10_000 : 100_000)
    await append(long, LIVE)
    const short = await store.session('short')
    await append(short, LIVE)

    const windows = await interleave(quick ? 3 : 15, { short: () => timed(() => short.window()), long: () => timed(() => long.window()) })
    const requests = await interleave(quick ? 10 : 200, {
      append: () => timed(() => long.append(MESSAGE)),
      commit: () => timed(() => long.commit({ keep: 4 })),
    })
    const drained = await drain(store, join(directory, 'sessions'), quick ? 200 : 1000)
    await store.close()
    return [
      figure('commit in a long session', 'ms', requests.commit),
      figure('commit against one append', 'times', [median(requests.commit) / median(requests.append)], { is: 'at most', value: 2 }),
      figure('window with 200 live messages', 'ms', windows.short),
      figure('window with 100,000 archived ones too, against that', 'times', ratios(windows.long, windows.short), {
        is: 'at most',
        value: 1.5,
      }),
      figure(`tasks drained by ${DRAINERS} processes`, 'tasks/s', [drained.tasks], { is: 'at least', value: 400 }),
      figure('appends meanwhile, against appends alone', 'times', [drained.appends], { is: 'at least', value: 0.5 }),
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

/** Sessions with one task each are worked on by other processes, while this one appends. */
async function drain(store: Store, directory: string, count: number): Promise<{ tasks: number; appends: number }> {
  for (let i = 0; i < count; i++) {
    const session = await store.session(`due ${i}`)
    await session.append(Array.from({ length: TASK_MESSAGES }, () => MESSAGE))
    await session.commit()
  }
  const session = await store.session('meanwhile')
  const alone = await rateOf(2000, () => session.append(MESSAGE))
  const children = Array.from({ length: DRAINERS }, () => fork(DRAINER, [directory]))
  await Promise.all(children.map((child) => once(child, 'message')))
  let ended = false
  const begun = performance.now()
  const answer = Promise.all(
    children.map(async (child) => {
      child.send('go')
      const [completed] = (await once(child, 'message')) as [number]
      return completed
    }),
  ).then((completed) => {
    ended = true
    return (completed.reduce((sum, one) => sum + one, 0) * 1000) / (performance.now() - begun)
  })
  let appended = 0
  const started = performance.now()
  while (!ended) {
    await session.append(MESSAGE)
    appended++
  }
  const meanwhile = (appended * 1000) / (performance.now() - started)
  return { tasks: await answer, appends: meanwhile / alone }
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await call()
  return performance.now() - started
}
