/** A bug that the fuzzer must find: chance does not find it, but coverage leads there. */
import type { Target } from '../target.ts'

const planted: Target = {
  name: 'planted',
  module: import.meta.url,
  seeds: [],
  fuzz: async (data) => {
    await Promise.resolve()
    if (data[0] === 0x68) if (data[1] === 0x66) if (data[2] === 0x21) throw new Error('planted')
  },
}

export const targets: readonly Target[] = [planted]
