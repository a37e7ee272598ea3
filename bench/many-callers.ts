import { BareLoop } from './bare-loop.ts'
import { EventLoopDelay } from './event-loop-delay.ts'
import { type Benchmark, figure, interleave, percentile, rateOf, rateOfMany, ratios } from './harness.ts'
import { Session } from './session.ts'

const CALLERS = 64

export const manyCallers: Benchmark = {
  name: 'many-callers',
  about: `Durable appends of 1 KiB by ${CALLERS} callers of one process on one journal, each awaiting its own, against the bare loop of one.`,
  run: async ({ directory, quick }) => {
    const bare = await BareLoop.open(directory)
    const own = await Session.open({ directory, id: 'own ids' })
    const given = await Session.open({ directory, id: 'given ids' })
    const slice = quick ? 200 : 500
    const crowd = async (append: () => Promise<unknown>) => {
      const delay = new EventLoopDelay()
      delay.start()
      const rate = await rateOfMany(CALLERS, slice, append)
      return { rate, late: percentile(delay.stop(), 99.9) }
    }
    const results = await interleave(quick ? 3 : 15, {
      bare: async () => ({ rate: await rateOf(slice, () => bare.append()), late: 0 }),
      own: () => crowd(() => own.append()),
      given: () => crowd(() => given.append({ lookUp: true })),
    })
    await Promise.all([bare.close(), own.close(), given.close()])
    const rates = (name: keyof typeof results) => results[name].map(({ rate }) => rate)
    const late = [...results.own, ...results.given].map((result) => result.late)
    return [
      figure('bare loop', 'appends/s', rates('bare')),
      figure('Holdfast', 'appends/s', rates('own')),
      figure('Holdfast against the bare loop', 'times', ratios(rates('own'), rates('bare')), { is: 'at least', value: 5 }),
      figure("the same with callers' message ids, looked up", 'times', ratios(rates('given'), rates('bare'))),
      figure('delay of the event loop meanwhile, p99.9', 'ms', late, { is: 'at most', value: 50 }),
    ]
  },
}
