/**
 * Runs the adapters' own test scenarios against the newest and the oldest versions of the frameworks, with the package as its users install it.
 *
 *   npm run test:peers                 both
 *   npm run test:peers -- newest       one of them
 *   npm run test:peers -- --lock       writes the lock files of test/peers again, for changed versions
 *
 * The versions are in test/peers, each set with a lock file of its own: the newest need a newer Node than the root allows. Everything is installed below
 * build/peers.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const BUILD = join(root, 'build', 'peers')
const SETS = ['newest', 'oldest']
/** The settings of the root are not for them: their frameworks say for themselves which Node they need. */
const NPM = [
  '--engine-strict=false',
  '--legacy-peer-deps',
  '--fund=false',
  '--audit=false',
  '--ignore-scripts',
  '--omit-lockfile-registry-resolved',
]

function run(command, words, options = {}) {
  const { status, stdout } = spawnSync(command, words, { cwd: root, stdio: 'inherit', ...options })
  if (status !== 0) throw new Error(`${[command, ...words].join(' ')} ended with ${status}.`)
  return stdout?.toString()
}

const sourceOf = (set, name) => join(root, 'test', 'peers', set, name)

function lock(set) {
  const directory = join(BUILD, `lock-${set}`)
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  copyFileSync(sourceOf(set, 'package.json'), join(directory, 'package.json'))
  run('npm', ['install', '--package-lock-only', ...NPM], { cwd: directory })
  copyFileSync(join(directory, 'package-lock.json'), sourceOf(set, 'package-lock.json'))
}

function pack() {
  if (process.env.HOLDFAST_BUILT !== '1') run(process.execPath, [join('scripts', 'build.mjs')])
  mkdirSync(BUILD, { recursive: true })
  const told = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', BUILD], { stdio: ['ignore', 'pipe', 'inherit'] })
  return join(BUILD, JSON.parse(told)[0].filename)
}

/** The program of Node that a set needs: this one unless it names a version. It comes in a package, without a script that downloads it. */
function nodeFor(version) {
  if (version === undefined) return process.execPath
  const name = `node-${process.platform}-${process.arch}`
  const directory = join(BUILD, `node-${version}`)
  const program = join(directory, 'node_modules', name, 'bin', 'node')
  if (!existsSync(program)) run('npm', ['install', '--no-save', '--prefix', directory, ...NPM, `${name}@${version}`])
  return program
}

function install(set, tarball) {
  const directory = join(BUILD, set)
  mkdirSync(directory, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(sourceOf(set, name), join(directory, name))
  run('npm', ['ci', ...NPM], { cwd: directory })
  run('npm', ['install', '--no-save', '--no-package-lock', ...NPM, tarball], { cwd: directory })
  return directory
}

function test(set, tarball) {
  const { config } = JSON.parse(readFileSync(sourceOf(set, 'package.json'), 'utf8'))
  const [node, directory] = [nodeFor(config?.node), install(set, tarball)]
  const suite = join(directory, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
  const env = { ...process.env, HOLDFAST_PEERS: directory, ...(existsSync(suite) ? { HOLDFAST_CONFORMANCE: suite } : {}) }
  process.stdout.write(`\n== The ${set} frameworks, on Node ${run(node, ['--version'], { stdio: ['ignore', 'pipe', 'inherit'] })}`)
  run(node, [join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--config', join('test', 'peers', 'vitest.config.ts')], { env })
}

const words = process.argv.slice(2)
const chosen = SETS.filter((set) => words.includes(set))
const sets = chosen.length === 0 ? SETS : chosen
if (words.includes('--lock')) for (const set of sets) lock(set)
else {
  const tarball = pack()
  for (const set of sets) test(set, tarball)
}
