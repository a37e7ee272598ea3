/**
 * Compiles with plain tsc, and the page with vite; only if a source is newer than the last good build.
 *
 *   node scripts/build.mjs           src -> dist, the package, with the page: web -> dist/web
 *   node scripts/build.mjs --tests   src, test, bench -> build, the type check, also of web, and the programs that tests start as processes
 *
 * --force compiles in any case. tsc writes its output also when it finds type errors; the exit code is then 1.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']
const TARGETS = {
  dist: { sources: ['src', 'web'], project: 'tsconfig.build.json', output: 'dist', flags: [] },
  tests: {
    sources: ['src', 'web', 'test', 'bench'],
    project: 'tsconfig.json',
    output: 'build',
    flags: ['--incremental', '--tsBuildInfoFile', 'build/tests.tsbuildinfo'],
  },
}

/** Directories count too: theirs is the only time that changes when a file is removed. */
function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

function isFresh({ sources, output }, stamp) {
  if (!existsSync(join(root, output)) || !existsSync(stamp)) return false
  const changed = Math.max(...[...sources, ...SETTINGS].map((path) => newest(join(root, path))))
  return changed < statSync(stamp).mtimeMs
}

/** A program of node, with its output shown; tells whether it succeeded. */
function run(...words) {
  return spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' }).status === 0
}

function compile(name, force) {
  const target = TARGETS[name]
  const stamp = join(root, 'build', `${name}.stamp`)
  if (!force && isFresh(target, stamp)) return 0

  const startedAt = new Date()
  rmSync(stamp, { force: true })
  if (name === 'dist') rmSync(join(root, 'dist'), { recursive: true, force: true })
  const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
  if (!run(tsc, '-p', target.project, ...target.flags)) return 1
  if (name === 'tests' && !run(tsc, '-p', 'web', '--incremental', '--tsBuildInfoFile', 'build/web.tsbuildinfo')) return 1
  if (name === 'dist') {
    chmodSync(join(root, 'dist', 'cli', 'start.cjs'), 0o755)
    if (!run(join('scripts', 'bundle.mjs'))) return 1
    if (!run(join('node_modules', 'vite', 'bin', 'vite.js'), 'build', '--config', join('web', 'vite.config.ts'), '--logLevel', 'warn'))
      return 1
  }

  // The stamp bears the time at which tsc began to read: a source saved meanwhile is newer.
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, '')
  utimesSync(stamp, startedAt, startedAt)
  return 0
}

const words = process.argv.slice(2)
process.exitCode = compile(words.includes('--tests') ? 'tests' : 'dist', words.includes('--force'))
