import { type Benchmark, figure, interleave } from './harness.ts'
import { Session } from './session.ts'

export const open: Benchmark = {
  name: 'open',
  about:
    'Opening a store and reading one session of it, and then the first append under an id of the caller. Files are in the cache of the system.',
  run: async ({ directory, quick }) => {
    const sizes = { 'journal of 100': 100, 'journal of 100,000': quick ? 10_000 : 100_000 }
    for (const [id, count] of Object.entries(sizes)) {
      const session = await Session.open({ directory, id })
      await session.appendMany(count, 64)
      await session.close()
    }
    const times = await interleave(quick ? 5 : 30, {
      'journal of 100': () => openAnew(directory, 'journal of 100'),
      'journal of 100,000': () => openAnew(directory, 'journal of 100,000'),
    })
    return Object.entries(times).flatMap(([id, samples]) => [
      figure(
        `${id}, open and read`,
        'ms',
        samples.map(({ read }) => read),
      ),
      figure(
        `${id}, first append after that`,
        'ms',
        samples.map(({ append }) => append),
      ),
    ])
  },
}

async function openAnew(directory: string, id: string): Promise<{ read: number; append: number }> {
  const started = performance.now()
  const session = await Session.open({ directory, id })
  await session.count()
  const read = performance.now() - started
  await session.append({ lookUp: true })
  const append = performance.now() - started - read
  await session.close()
  return { read, append }
}
