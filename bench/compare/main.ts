/**
 * npm run compare -- [--quick] [--json] [--write] [--dir DIRECTORY]: holds Holdfast against what one would keep sessions in instead, all in one run, and prints
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
import { type Compared, comparisonTable } from './report.ts'
import { compareSpeed } from './speed.ts'
import { compareSurvival } from './survival.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    // On the disk of the repository, as with `npm run bench`.
    dir: { type: 'string', default: join(ROOT, 'build') },
  },
})
if (values.write && values.quick) {
  console.error('A quick run says little: leave out --quick, or --write.')
  process.exit(2)
}

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
  const setting = { directory, quick: values.quick }
  // What can be lost is looked at first: it leaves no large files behind.
  const survival = await compareSurvival(contenders, setting)
  const rows = [...(await compareSpeed(contenders, setting)), ...survival]
  const told = contenders.map(({ name, about, keeps }) => ({ name, about, keeps }))
  const compared: Compared = { machine, contenders: told, absent, rows }
  if (values.json) console.log(JSON.stringify(compared, null, 2))
  else console.log(`${values.quick ? 'A quick run: the figures say little.\n\n' : ''}${comparisonTable(compared)}`)
  if (values.write) await writeKept({ ...(await readKept()), compared })
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
