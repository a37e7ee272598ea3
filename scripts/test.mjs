/**
 * The whole test run, in order, stopping at the first stage that fails. Its last line is `N passed, N failed`, as vitest counted.
 *
 *   npm test                                 everything
 *   npm run test:long                        everything, with every case of the exhaustive checks
 *   npm run test:fast -- [vitest arguments]  types and the fast tests
 *
 * The stages build what vitest's global setup would build, so that one is told to leave it.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pc from 'picocolors'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const REPORT = join(root, 'build', 'vitest-report.json')

const words = process.argv.slice(2).filter((word) => word !== '--long')
const long = process.argv.includes('--long')
const fast = words[0] === '--fast'
const vitestWords = fast ? ['--project', 'fast', ...words.slice(1)] : words

const BUILDS = [
  ['Types (build/)', 'node', ['scripts/build.mjs', '--tests', ...(fast ? [] : ['--force'])]],
  ['Package (dist/)', 'node', ['scripts/build.mjs', ...(fast ? [] : ['--force'])]],
]
const STAGES = fast
  ? BUILDS
  : [
      ['Format and lint (biome)', 'biome', ['check', '--error-on-warnings']],
      ...BUILDS,
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
    env: { ...process.env, HOLDFAST_BUILT: '1', ...(long ? { HOLDFAST_TEST_LONG: '1' } : {}) },
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
  return { passed: report.numPassedTests, failed: counted, skipped: report.numPendingTests + report.numTodoTests }
}

function runTests() {
  mkdirSync(dirname(REPORT), { recursive: true })
  rmSync(REPORT, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`]
  const succeeded = run('Tests (vitest)', 'vitest', ['run', ...reporters, ...vitestWords])
  const { passed, failed, skipped } = readCounts(succeeded)
  process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
  return succeeded && failed === 0
}

const broken = STAGES.find((stage) => !run(...stage))
if (broken !== undefined) {
  process.stderr.write(`\nStopped at: ${broken[0]}. No test was run.\n`)
  process.exitCode = 1
} else if (!runTests()) process.exitCode = 1
