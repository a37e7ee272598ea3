/**
 * One of several processes that write to one journal. Started by `many-processes`, which tells it over the channel between them when to
 * append and for how long; it answers with its rate.
 */
import type { Journal } from '../src/engine/port.ts'
import { rateOf } from './harness.ts'
import { Session } from './session.ts'

/** How a writer gets from the end that it has read to the write. */
export type Way =
  /** Without leaving the thread. */
  | 'at once'
  /** Through an await, until it has lost so many races that the replica is in a hurry. */
  | 'await'
  /** Through an await, always. */
  | 'await always'

const [directory, way] = process.argv.slice(2) as [string, Way]

const session = await Session.open({
  directory,
  id: way,
  limits: way === 'at once' ? {} : { syncWriteBytes: 0 },
  wrap: way === 'await always' ? neverInHurry : (journal) => journal,
})
process.on('message', (milliseconds: number) => {
  void rateOf(milliseconds, () => session.append()).then((rate) => process.send?.(rate))
})
process.on('disconnect', () => void session.close())
process.send?.(await session.count())

function neverInHurry(journal: Journal): Journal {
  return new Proxy(journal, {
    get: (target, name) => {
      if (name === 'append') {
        const append: Journal['append'] = (segment, at, group, options) => target.append(segment, at, group, { ...options, hurry: false })
        return append
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
