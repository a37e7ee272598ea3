/** Commits when it is told, after a moment; perhaps appends first, and perhaps waits until the task is completed. Each line of input is an order. */
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { openStore } from '../../../src/store/open-store.ts'
import { childOptions } from '../child.ts'

export interface CommitterOptions {
  readonly directory: string
}

export interface Order {
  readonly session: string
  /** Messages to append before, by their ids. */
  readonly append: readonly string[]
  readonly keep: number
  /** How long to wait before the commit. */
  readonly afterMs: number
  /** Whether to answer only when the task is completed. */
  readonly complete: boolean
}

export interface Report {
  readonly status: 'accepted' | 'skipped' | 'completed'
  readonly archive?: number
}

const store = await openStore(childOptions<CommitterOptions>().directory)
process.stdout.write('{"status":"ready"}\n')
for await (const line of createInterface(process.stdin)) {
  const report = await carryOut(JSON.parse(line) as Order)
  process.stdout.write(`${JSON.stringify(report)}\n`)
}
await store.close()

async function carryOut({ session: id, append, keep, afterMs, complete }: Order): Promise<Report> {
  const session = store.session(id)
  if (append.length > 0) await session.append(append.map((message) => ({ id: message, role: 'user', content: `text of ${message}` })))
  // Shorter than any timer.
  const until = performance.now() + afterMs
  while (performance.now() < until) await setImmediate()
  const committed = await session.commit({ keep })
  if (committed.status === 'skipped') return { status: 'skipped' }
  if (complete) await committed.task.completed()
  return { status: complete ? 'completed' : 'accepted', archive: committed.archive }
}
