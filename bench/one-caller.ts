import { BareLoop } from './bare-loop.ts'
import { type Benchmark, figure, interleave, rateOf, ratios } from './harness.ts'
import { Session } from './session.ts'

export const oneCaller: Benchmark = {
  name: 'one-caller',
  about: 'Durable appends of 1 KiB by one caller that awaits each, against a bare loop of `write` and `fdatasync` on the same disk.',
  run: async ({ directory, quick }) => {
    const bare = await BareLoop.open(directory)
    const own = await Session.open({ directory, id: 'own ids' })
    const given = await Session.open({ directory, id: 'given ids' })
    const slice = quick ? 200 : 500
    const rates = await interleave(quick ? 3 : 15, {
      bare: () => rateOf(slice, () => bare.append()),
      own: () => rateOf(slice, () => own.append()),
      given: () => rateOf(slice, () => given.append({ lookUp: true })),
    })
    await Promise.all([bare.close(), own.close(), given.close()])
    return [
      figure('bare loop', 'appends/s', rates.bare),
      figure('Holdfast', 'appends/s', rates.own),
      figure('Holdfast against the bare loop', 'times', ratios(rates.own, rates.bare), { is: 'at least', value: 0.8 }),
      figure("the same with a caller's message id, looked up", 'times', ratios(rates.given, rates.bare)),
    ]
  },
}
