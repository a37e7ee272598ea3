/**
 * npm run bench -- [--only NAME,…] [--quick] [--json] [--check] [--write] [--dir DIRECTORY]: measures, and prints a table. With --check, ends
 * with 1 if a bar is missed; with --write, writes docs/benchmarks.md.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { BENCHMARKS } from './benchmarks.ts'
import { type Benchmark, meets } from './harness.ts'
import { ROOT, readKept, writeKept } from './kept.ts'
import { describeMachine, type Machine } from './machine.ts'
import { type Measured, machineLines, type Result, table } from './report.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    // Beside the compiled files: on the disk of the repository, never in memory as a temporary directory may be, and ignored by git.
    dir: { type: 'string', default: join(ROOT, 'build') },
  },
})

const only = values.only?.split(',') ?? BENCHMARKS.map(({ name }) => name)
/** By its name, or together with those that begin alike: `catalog` is all of the catalog. */
const isNamed = ({ name }: Benchmark, by: string): boolean => name === by || name.startsWith(`${by}-`)
const unknown = only.find((one) => !BENCHMARKS.some((benchmark) => isNamed(benchmark, one)))
if (unknown !== undefined) fail(`There is no benchmark "${unknown}"; there are ${BENCHMARKS.map(({ name }) => name).join(', ')}.`)
const chosen = BENCHMARKS.filter((benchmark) => only.some((one) => isNamed(benchmark, one)))
if (values.write && values.quick) fail('A quick run says little: leave out --quick, or --write.')

await mkdir(values.dir, { recursive: true })
const directory = await mkdtemp(join(resolve(values.dir), 'bench-data-'))
try {
  const machine = await describeMachine(directory)
  const results: Result[] = []
  for (const benchmark of chosen) {
    if (!values.json) console.error(`${benchmark.name} …`)
    const own = join(directory, benchmark.name)
    await mkdir(own)
    results.push({ benchmark, figures: await benchmark.run({ directory: own, quick: values.quick }) })
    await rm(own, { recursive: true })
  }
  if (values.json) {
    const figures = results.flatMap((result) =>
      result.figures.map((one) => ({ benchmark: result.benchmark.name, ...one, met: meets(one) })),
    )
    console.log(JSON.stringify({ machine, quick: values.quick, figures }, null, 2))
  } else {
    if (values.quick) console.log('A quick run: the figures say little.\n')
    console.log(`${machineLines(machine).join('\n')}\n\n${table(results)}`)
  }
  if (values.write) await write(machine, results)
  if (values.check && results.some(({ figures }) => !figures.every(meets))) process.exitCode = 1
} finally {
  await rm(directory, { recursive: true, force: true })
}

/** Puts the figures in the place of those of earlier runs, and leaves those of other benchmarks as they are. */
async function write(machine: Machine, results: readonly Result[]): Promise<void> {
  const { measured, comparison } = await readKept()
  const latest = results.map(({ benchmark, figures }): [string, Measured] => [benchmark.name, { machine, figures }])
  await writeKept({ measured: { ...measured, ...Object.fromEntries(latest) }, comparison })
}

function fail(why: string): never {
  console.error(why)
  process.exit(2)
}
