/**
 * npm run simulate -- --seeds N --from S: runs N seeds and prints what broke. With --trace FILE, writes every event of the last seed that
 * did to a file. With --store, the runs are those of the whole store instead of the bare journal; with --workers, workers are among its clients.
 * With --harm, somebody does harm to the files; --focus says what such runs are about. Ends with 1 if anything broke.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { FOCUSES } from './harm/plan.ts'
import { type HarmReport, simulateHarm } from './harm/run.ts'
import { SPECIAL_TROUBLES, TROUBLES } from './plan.ts'
import { type RunReport, simulate } from './run.ts'
import { simulateStore } from './store/run.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    trace: { type: 'string' },
    trouble: { type: 'string' },
    store: { type: 'boolean', default: false },
    harm: { type: 'boolean', default: false },
    focus: { type: 'string' },
    workers: { type: 'boolean', default: false },
    'until-broken': { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
  },
})

const from = Number(values.from)
const seeds = Number(values.seeds)
const trouble = [...TROUBLES, ...SPECIAL_TROUBLES].find((known) => known === values.trouble)
const focus = FOCUSES.find((known) => known === values.focus)
if (values.trouble !== trouble || values.focus !== focus || !Number.isSafeInteger(from) || !Number.isSafeInteger(seeds) || seeds < 1) {
  console.error('Usage: npm run simulate -- [--seeds N] [--from S] [--trouble KIND] [--until-broken] [--trace FILE]')
  console.error('                           [--store [--workers] | --harm [--focus KIND]]')
  process.exit(2)
}

function simulateOne(seed: number): Promise<RunReport & Partial<HarmReport>> {
  const trace = values.trace !== undefined
  if (values.harm) return simulateHarm(seed, { trace, ...(focus === undefined ? {} : { focus }) })
  const options = { trace, ...(trouble === undefined ? {} : { focus: trouble }) }
  return values.store ? simulateStore(seed, { ...options, workers: values.workers }) : simulate(seed, options)
}

const started = performance.now()
const sum = { steps: 0, attempts: 0, acknowledged: 0, kills: 0, powerLosses: 0, faults: 0, limits: 0 }
const harm = { harms: 0, harmsToMarked: 0, alarms: 0, acceptances: 0, copies: 0, restores: 0 }
let broken = 0
let done = 0
for (let seed = from; seed < from + seeds; seed++) {
  const report = await simulateOne(seed)
  done++
  for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += report[key]
  for (const key of Object.keys(harm) as (keyof typeof harm)[]) harm[key] += report[key] ?? 0
  if (report.findings.length > 0) {
    broken++
    if (values.trace !== undefined) writeFileSync(values.trace, report.trace.join('\n'))
    for (const { what, detail } of report.findings.slice(0, 5)) console.log(`seed ${seed}: ${what}: ${detail}`)
    if (values['until-broken']) break
  }
  if (!values.quiet && process.stderr.isTTY && done % 20 === 0) process.stderr.write(`\r${done} of ${seeds} seeds, ${broken} broken`)
}
if (!values.quiet && process.stderr.isTTY) process.stderr.write('\r')
const seconds = (performance.now() - started) / 1000
console.log(
  `${done} seeds from ${from} in ${seconds.toFixed(1)} s: ${broken} broken; ${sum.attempts} attempts, ${sum.acknowledged} acknowledged, ` +
    `${sum.kills} kills, ${sum.powerLosses} power losses, ${sum.faults} faults, ${sum.steps} steps; stated limit met ${sum.limits} times`,
)
if (values.harm)
  console.log(
    `${harm.harms} harms, ${harm.harmsToMarked} of them to what a watermark covered, ${harm.alarms} alarms, ${harm.acceptances} accepted, ` +
      `${harm.copies} copies taken while in use, ${harm.restores} restored`,
  )
process.exit(broken > 0 ? 1 : 0)
