/**
 * npm run simulate -- --seeds N --from S: runs N seeds and prints what broke. With --trace FILE, writes every event of the last seed that
 * did to a file. With --store, the runs are those of the whole store instead of the bare journal; with --workers, workers are among its clients.
 * Ends with 1 if anything broke.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { SPECIAL_TROUBLES, TROUBLES } from './plan.ts'
import { simulate } from './run.ts'
import { simulateStore } from './store/run.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    trace: { type: 'string' },
    trouble: { type: 'string' },
    store: { type: 'boolean', default: false },
    workers: { type: 'boolean', default: false },
    'until-broken': { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
  },
})

const from = Number(values.from)
const seeds = Number(values.seeds)
const focus = [...TROUBLES, ...SPECIAL_TROUBLES].find((trouble) => trouble === values.trouble)
if (values.trouble !== focus || !Number.isSafeInteger(from) || !Number.isSafeInteger(seeds) || seeds < 1) {
  console.error('Usage: npm run simulate -- [--seeds N] [--from S] [--store [--workers]] [--trouble KIND] [--until-broken] [--trace FILE]')
  process.exit(2)
}

const started = performance.now()
const sum = { steps: 0, attempts: 0, acknowledged: 0, kills: 0, powerLosses: 0, faults: 0, limits: 0 }
let broken = 0
let done = 0
for (let seed = from; seed < from + seeds; seed++) {
  const options = { trace: values.trace !== undefined, ...(focus === undefined ? {} : { focus }) }
  const report = await (values.store ? simulateStore(seed, { ...options, workers: values.workers }) : simulate(seed, options))
  done++
  for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += report[key]
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
process.exit(broken > 0 ? 1 : 0)
