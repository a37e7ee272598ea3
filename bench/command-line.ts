import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Benchmark, figure, interleave } from './harness.ts'

/** As it is installed: `npm run bench` builds it. */
const MAIN = fileURLToPath(new URL('../../dist/cli/start.cjs', import.meta.url))

export const commandLine: Benchmark = {
  name: 'command-line',
  about: 'Wall time of one `holdfast append` and of one `holdfast show`, from start to end of the process.',
  run: async ({ directory, quick }) => {
    const holdfast = async (...words: string[]): Promise<number> => {
      const started = performance.now()
      const child = spawn(process.execPath, [MAIN, ...words, '--store', directory], { stdio: 'ignore' })
      const [status] = (await once(child, 'exit')) as [number | null]
      if (status !== 0) throw new Error(`holdfast ${words[0]} ended with ${status}.`)
      return performance.now() - started
    }
    await holdfast('append', 'session', 'first')
    const times = await interleave(quick ? 5 : 25, {
      bare: async () => {
        const started = performance.now()
        await once(spawn(process.execPath, ['--eval', ''], { stdio: 'ignore' }), 'exit')
        return performance.now() - started
      },
      append: () => holdfast('append', 'session', 'Hold fast.'),
      show: () => holdfast('show', 'session', '--limit', '1'),
    })
    return [
      figure('node alone, doing nothing', 'ms', times.bare),
      figure('holdfast append', 'ms', times.append, { is: 'at most', value: 150 }),
      figure('holdfast show', 'ms', times.show, { is: 'at most', value: 150 }),
    ]
  },
}
