import { type Benchmark, figure, interleave, median, percentile } from './harness.ts'
import { Session } from './session.ts'

const SHORT = 100
const MEASURED = 500

export const longJournal: Benchmark = {
  name: 'long-journal',
  about:
    'Latency of an append to a journal of 100,000 records against one to a journal of 100, one by one in turns; ' +
    'with ids made for the append, and with ids of the caller, which must be looked up among all before.',
  run: async ({ directory, quick }) => {
    const long = await Session.open({ directory, id: 'long' })
    await long.appendMany(quick ? 10_000 : 100_000, 64)
    let shorts = 0
    const compare = async (lookUp: boolean) => {
      const short = await Session.open({ directory, id: `short ${shorts++}` })
      await short.appendMany(SHORT, 64)
      const latencies = await interleave(MEASURED, {
        short: () => timed(() => short.append({ lookUp })),
        long: () => timed(() => long.append({ lookUp })),
      })
      await short.close()
      return latencies
    }
    const rounds = await interleave(quick ? 2 : 6, { own: () => compare(false), given: () => compare(true) })
    await long.close()
    return (['own', 'given'] as const).flatMap((kind) => {
      const title = kind === 'own' ? 'own ids' : "callers' ids"
      const of = (which: 'short' | 'long', percent: number) => rounds[kind].map((round) => percentile(round[which], percent))
      const ratio = rounds[kind].map(({ short, long }) => median(long) / median(short))
      return [
        figure(`${title}, short journal, median`, 'ms', of('short', 50)),
        figure(`${title}, long journal, median`, 'ms', of('long', 50)),
        figure(`${title}, long against short`, 'times', ratio, { is: 'at most', value: 1.3 }),
        figure(`${title}, short journal, p99`, 'ms', of('short', 99)),
        figure(`${title}, long journal, p99`, 'ms', of('long', 99)),
      ]
    })
  },
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await call()
  return performance.now() - started
}
