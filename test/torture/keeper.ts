/** Those who look after harmed sessions: they let each continue, some time after the harm, all of them at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { readHarms } from './harm-log.ts'
import type { Harm } from './harms.ts'
import { type Call, nowUs, type Wish } from './history.ts'

const POLL_MS = 100
/** Long enough for others to meet the harm. */
const SHORTEST_US = 1_500_000
const SPREAD_US = 3_000_000

interface KeeperOptions {
  /** Where the driver writes down what it harms. */
  readonly harms: string
  readonly ask: (wish: Wish) => Promise<void>
  /** What earlier lives of this keeper asked. */
  readonly earlier: readonly Call[]
  readonly over: AbortSignal
}

/** Until it is to end, and everything that was harmed was accepted. */
export async function keep({ harms: path, ask, earlier, over }: KeeperOptions): Promise<void> {
  const done = new Set<number>()
  const isDone = (harm: Harm, number: number): boolean =>
    done.has(number) || earlier.some((call) => call.kind === 'accept' && call.session === harm.session && call.begun > harm.to)
  for (;;) {
    const { harms } = readHarms(path)
    const open = [...harms.entries()].filter(([number, harm]) => !isDone(harm, number))
    for (const [number, harm] of open) {
      if (!over.aborted && nowUs() < dueAt(harm)) continue
      done.add(number)
      await ask({ kind: 'read', session: harm.session })
      await ask({ kind: 'accept', session: harm.session })
      await ask({ kind: 'read', session: harm.session })
    }
    if (over.aborted && open.length === 0) return
    await sleep(POLL_MS)
  }
}

/** The same for all keepers, so that they meet. */
function dueAt({ to }: Harm): number {
  return to + SHORTEST_US + ((to * 7919) % SPREAD_US)
}
