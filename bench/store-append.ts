import { openStore } from '../src/store/open-store.ts'
import { type Benchmark, figure, interleave, rateOf, rateOfMany, ratios } from './harness.ts'
import { Session, TEXT } from './session.ts'

const CALLERS = 64

export const storeAppend: Benchmark = {
  name: 'store-append',
  about: `\`session.append\` of a message of about 1 KiB, by one caller and by ${CALLERS}, against the replica that it stands on, with records of the same length.`,
  run: async ({ directory, quick }) => {
    const store = await openStore(directory)
    const session = store.session('session')
    const engine = await Session.open({ directory, id: 'engine' })
    const slice = quick ? 200 : 1000
    const message = { role: 'assistant', content: TEXT }
    const rates = await interleave(quick ? 3 : 9, {
      engineOne: () => rateOf(slice, () => engine.append()),
      sessionOne: () => rateOf(slice, () => session.append(message)),
      engineMany: () => rateOfMany(CALLERS, slice, () => engine.append()),
      sessionMany: () => rateOfMany(CALLERS, slice, () => session.append(message)),
    })
    await engine.close()
    await store.close()
    return [
      figure('session.append, one caller', 'appends/s', rates.sessionOne),
      figure('one caller, against the engine', 'times', ratios(rates.sessionOne, rates.engineOne), { is: 'at least', value: 0.9 }),
      figure(`session.append, ${CALLERS} callers`, 'appends/s', rates.sessionMany),
      figure(`${CALLERS} callers, against the engine`, 'times', ratios(rates.sessionMany, rates.engineMany)),
    ]
  },
}
