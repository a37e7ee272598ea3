import { join } from 'node:path'
import { openStore } from '../src/store/open-store.ts'
import { type Benchmark, figure, interleave, rateOf, rateOfMany, ratios } from './harness.ts'
import { TEXT } from './session.ts'

const CALLERS = 64

export const encryption: Benchmark = {
  name: 'encryption',
  about: `\`session.append\` of a message of about 1 KiB to a store that is encrypted, by one caller and by ${CALLERS}, against one that is not, on the same disk.`,
  run: async ({ directory, quick }) => {
    const plain = await openStore(join(directory, 'plain'))
    const sealed = await openStore(join(directory, 'sealed'), { encryption: { masterKey: Buffer.alloc(32, 1) } })
    const [one, other] = [plain.session('s'), sealed.session('s')]
    const slice = quick ? 200 : 1000
    const message = { role: 'assistant', content: TEXT }
    const rates = await interleave(quick ? 3 : 9, {
      plainOne: () => rateOf(slice, () => one.append(message)),
      sealedOne: () => rateOf(slice, () => other.append(message)),
      plainMany: () => rateOfMany(CALLERS, slice, () => one.append(message)),
      sealedMany: () => rateOfMany(CALLERS, slice, () => other.append(message)),
    })
    await plain.close()
    await sealed.close()
    return [
      figure('encrypted, one caller', 'appends/s', rates.sealedOne),
      figure('one caller, against plain', 'times', ratios(rates.sealedOne, rates.plainOne), { is: 'at least', value: 0.85 }),
      figure(`encrypted, ${CALLERS} callers`, 'appends/s', rates.sealedMany),
      figure(`${CALLERS} callers, against plain`, 'times', ratios(rates.sealedMany, rates.plainMany)),
    ]
  },
}
