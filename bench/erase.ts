import { openStore } from '../src/store/open-store.ts'
import { type Benchmark, figure } from './harness.ts'
import { TEXT } from './session.ts'

const BATCH = 100

export const erase: Benchmark = {
  name: 'erase',
  about:
    'Erasing one message of a session of 200,000: the record, the bytes of its line and what is known of its keys, all on the disk when it is told. No catalog was made; with one, its index is written anew each time, which takes as long as that is large.',
  run: async ({ directory, quick }) => {
    const count = quick ? 20_000 : 200_000
    const store = await openStore(directory)
    const session = store.session('long')
    const message = { role: 'assistant', content: TEXT }
    for (let i = 0; i < count; i += BATCH) {
      const ids = Array.from({ length: BATCH }, (_, j) => `m${i + j}`)
      await session.append(
        ids.map(() => message),
        { ids },
      )
    }
    const times: number[] = []
    for (let i = -2; i < (quick ? 5 : 25); i++) {
      const begun = performance.now()
      await session.erase(`m${Math.floor(((i + 2.5) / 30) * count)}`)
      if (i >= 0) times.push(performance.now() - begun)
    }
    await store.close()
    return [figure(`one message of ${count.toLocaleString('en')}`, 'ms', times, { is: 'at most', value: 50 })]
  },
}
