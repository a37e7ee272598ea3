/**
 * The whole test run, in order, stopping at the first stage that fails. Its last line is `N passed, N failed`, as vitest counted.
 *
 *   npm test                                 everything
 *   npm run test:long                        everything, with every case of the exhaustive checks, and random seeds
 *   npm run test:random                      everything, with random seeds
 *   npm run test:fast -- [vitest arguments]  the fast tests, on the sources: builds nothing and checks no types
 *
 * All that is random in the tests is drawn from one seed, HOLDFAST_TEST_SEED; set it to repeat a run with random seeds.
 *
 * The stages build what vitest's global setup would build, so HOLDFAST_BUILT=1 makes the setup skip it.
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import pc from 'picocolors'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const REPORT = join(root, 'build', 'vitest-report.json')
/** What this machine does not offer, as test/platform.ts found. */
const MISSING = join(root, 'build', 'missing.txt')

const words = process.argv.slice(2).filter((word) => word !== '--long' && word !== '--random')
const long = process.argv.includes('--long')
const random = long || process.argv.includes('--random')
const seed = process.env.HOLDFAST_TEST_SEED ?? String(random ? randomInt(2 ** 31) : 1)
const fast = words[0] === '--fast'
// Fast tests wait for nothing: a worker beyond the cores would only load everything once more. What was compiled is kept for the next run.
const vitestWords = fast ? ['--project', 'fast', '--maxWorkers=2', '--experimental.fsModuleCache', ...words.slice(1)] : words

const STAGES = fast
  ? []
  : [
      ['Format and lint (biome)', 'biome', ['check', '--error-on-warnings']],
      ['Types (build/)', 'node', ['scripts/build.mjs', '--tests', '--force']],
      ['Package (dist/)', 'node', ['scripts/build.mjs', '--force']],
      ['Unused files, exports, dependencies (knip)', 'knip', []],
      ['Package manifest (publint)', 'publint', ['--strict']],
    ]

function heading(title) {
  process.stdout.write(`\n${pc.bold(`== ${title}`)}\n`)
}

/** Runs one program with its output shown, and tells whether it succeeded. */
function run(title, program, args) {
  heading(title)
  const startedAt = performance.now()
  const command = program === 'node' ? process.execPath : join(root, 'node_modules', '.bin', program)
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      HOLDFAST_BUILT: '1',
      HOLDFAST_TEST_SEED: seed,
      HOLDFAST_TEST_MISSING: MISSING,
      ...(long ? { HOLDFAST_TEST_LONG: '1' } : {}),
    },
  })
  if (error !== undefined) process.stderr.write(`${error.message}\n`)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  process.stdout.write(status === 0 ? pc.green(`ok, ${seconds} s\n`) : pc.red(`FAILED, ${seconds} s\n`))
  return status === 0
}

function readCounts(succeeded) {
  const report = JSON.parse(readFileSync(REPORT, 'utf8'))
  // A file that cannot be loaded, or whose hooks fail, has no failed test of its own; it counts as one.
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((one) => one.status === 'failed'),
  )
  const failed = report.numFailedTests + broken.length
  // Vitest also fails for what belongs to no test: an unhandled rejection, no test at all.
  const counted = succeeded ? failed : Math.max(failed, 1)
  const skipped = report.testResults.map(({ name, assertionResults }) => ({
    file: relative(root, name),
    count: assertionResults.filter((one) => one.status === 'pending' || one.status === 'skipped').length,
  }))
  return {
    passed: report.numPassedTests,
    failed: counted,
    skipped: report.numPendingTests + report.numTodoTests,
    skippedIn: skipped.filter(({ count }) => count > 0),
  }
}

function tellMissing(skippedIn) {
  heading('Not run here')
  // Every file that needs it has said so.
  const said = new Set(readFileSync(MISSING, 'utf8').split(/\n(?! )/))
  process.stdout.write(`${[...said].filter((one) => one !== '').join('\n')}\n\nSkipped tests:\n`)
  for (const { file, count } of skippedIn) process.stdout.write(`${String(count).padStart(5)} ${file}\n`)
  process.stdout.write(`Run some of them alone: npm test -- ${skippedIn.at(-1)?.file}\n`)
}

function runTests() {
  mkdirSync(dirname(REPORT), { recursive: true })
  rmSync(REPORT, { force: true })
  rmSync(MISSING, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`]
  const succeeded = run('Tests (vitest)', 'vitest', ['run', ...reporters, ...vitestWords])
  const { passed, failed, skipped, skippedIn } = readCounts(succeeded)
  if (existsSync(MISSING)) tellMissing(skippedIn)
  if (random) process.stdout.write(`\nSeed: HOLDFAST_TEST_SEED=${seed} repeats these cases.\n`)
  process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
  return succeeded && failed === 0
}

const broken = STAGES.find((stage) => !run(...stage))
if (broken !== undefined) {
  process.stderr.write(`\nStopped at: ${broken[0]}. No test was run.\n`)
  process.exitCode = 1
} else if (!runTests()) process.exitCode = 1
