/**
 * npm run compare -- [--only speed|survival] [--quick] [--json] [--write] [--dir DIRECTORY]: holds Holdfast against what one would keep sessions in instead, all in one run, and prints
 * a table. With --write, it becomes a section of docs/benchmarks.md. Packages that the project does not depend on are installed on the way; a quick run installs nothing.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { fetchPackage, importFetched, isFetched } from '../fetched.ts'
import { ROOT, readKept, writeKept } from '../kept.ts'
import { describeMachine } from '../machine.ts'
import type { Contender } from './contender.ts'
import { CONTENDERS } from './contenders.ts'
import { type Compared, comparisonTables, type Part } from './report.ts'
import { compareSpeed } from './speed.ts'
import { compareSurvival } from './survival.ts'

const PARTS = { speed: compareSpeed, survival: compareSurvival } as const

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    // On the disk of the repository, as with `npm run bench`.
    dir: { type: 'string', default: join(ROOT, 'build') },
  },
})
const only = (values.only?.split(',') ?? Object.keys(PARTS)) as Part[]
const unknown = only.find((part) => !(part in PARTS))
if (unknown !== undefined) fail(`There is no part "${unknown}"; there are ${Object.keys(PARTS).join(', ')}.`)
if (values.write && values.quick) fail('A quick run says little: leave out --quick, or --write.')

await mkdir(values.dir, { recursive: true })
const directory = await mkdtemp(join(resolve(values.dir), 'compare-data-'))
try {
  const absent: { name: string; why: string }[] = []
  const contenders: Contender[] = []
  for (const contender of CONTENDERS) {
    const why = await whyNot(contender)
    if (why === undefined) contenders.push(contender)
    else absent.push({ name: contender.name, why })
  }
  const machine = await describeMachine(directory)
  const told = contenders.map(({ name, about, keeps }) => ({ name, about, keeps }))
  const comparison: Partial<Record<Part, Compared>> = {}
  for (const part of only) {
    const own = join(directory, part)
    await mkdir(own)
    const rows = await PARTS[part](contenders, { directory: own, quick: values.quick })
    await rm(own, { recursive: true })
    comparison[part] = { machine, contenders: told, absent, rows }
  }
  if (values.json) console.log(JSON.stringify(comparison, null, 2))
  else console.log(`${values.quick ? 'A quick run: the figures say little.\n\n' : ''}${comparisonTables(comparison)}`)
  if (values.write) {
    const kept = await readKept()
    await writeKept({ ...kept, comparison: { ...kept.comparison, ...comparison } })
  }
} finally {
  await rm(directory, { recursive: true, force: true })
}

/** Why a contender cannot take part; undefined if it can. */
async function whyNot({ name, fetched }: Contender): Promise<string | undefined> {
  if (fetched === undefined) return undefined
  if (values.quick && !isFetched(fetched)) return 'it is not installed, and a quick run installs nothing.'
  fetchPackage(fetched)
  try {
    await importFetched(fetched)
    return undefined
  } catch (error) {
    const why = `${fetched.name} could not be installed or loaded (${(error as Error).message.split('\n')[0]}).`
    console.error(`  going on without ${name}: ${why}`)
    return why
  }
}

function fail(why: string): never {
  console.error(why)
  process.exit(2)
}
