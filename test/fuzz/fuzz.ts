/**
 * Runs the fuzzer on one target. It begins with the seeds and with the corpus that is kept (`corpus/<target>.tar`), and leaves what it finds in
 * `build/fuzz/<target>`: `corpus/`, and a file for each input that broke the target.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addonEnvironment } from './addon.ts'
import { keptCorpus } from './corpus.ts'
import type { Target } from './target.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/build\/$/, '')
const HOME = join(ROOT, 'build', 'fuzz')
/** One input may take this long, in seconds, and the process so much memory, in MiB. */
const SLOWEST_S = 10
const MOST_MEMORY = 2048
const LONGEST = 16_384

export interface Fuzzed {
  readonly target: string
  readonly runs: number
  /** Places in the code that were reached. */
  readonly coverage: number
  readonly corpus: number
  /** Files with inputs that broke it. */
  readonly finds: readonly string[]
  /** What the fuzzer said at last. */
  readonly said: string
}

export async function fuzz(target: Target, seconds: number, seed: number): Promise<Fuzzed> {
  const { name, seeds } = target
  const home = join(HOME, name)
  const corpus = join(home, 'corpus')
  rmSync(home, { recursive: true, force: true })
  mkdirSync(corpus, { recursive: true })
  for (const [index, bytes] of [...seeds, ...keptCorpus(name)].entries()) writeFileSync(join(corpus, `begin-${index}`), bytes)
  const said = await run(target, corpus, [
    `-max_total_time=${seconds}`,
    `-seed=${seed}`,
    `-artifact_prefix=${home}/`,
    `-timeout=${SLOWEST_S}`,
    `-rss_limit_mb=${MOST_MEMORY}`,
    `-max_len=${LONGEST}`,
  ])
  const finds = readdirSync(home).filter((file) => file !== 'corpus')
  return {
    target: name,
    // The last lines may be missing: the fuzzer does not wait until they are written.
    runs: Math.max(0, ...[...said.matchAll(/^#(\d+)\t/gm)].map(([, count]) => Number(count))),
    coverage: Math.max(0, ...[...said.matchAll(/ cov: (\d+)/g)].map(([, places]) => Number(places))),
    corpus: readdirSync(corpus).length,
    finds: finds.map((file) => join(home, file)),
    said: said.slice(Math.max(0, said.lastIndexOf('Uncaught Exception'))).slice(-3000),
  }
}

/** Keeps of a corpus what reaches a place that nothing smaller reaches. */
export async function smallest(target: Target): Promise<Buffer[]> {
  const [all, few] = [join(HOME, target.name, 'corpus'), join(HOME, target.name, 'few')]
  rmSync(few, { recursive: true, force: true })
  mkdirSync(few)
  await run(target, few, [all, '-merge=1', `-max_len=${LONGEST}`])
  const inputs = readdirSync(few).map((file) => readFileSync(join(few, file)))
  rmSync(few, { recursive: true })
  return inputs.sort((a, b) => a.length - b.length || Buffer.compare(a, b))
}

async function run({ name, module }: Target, corpus: string, words: readonly string[]): Promise<string> {
  const jazzer = join(dirname(createRequire(import.meta.url).resolve('@jazzer.js/core/package.json')), 'dist', 'cli.js')
  const harness = join(ROOT, 'build', 'test', 'fuzz', 'harness.js')
  const hook = join(ROOT, 'test', 'fuzz', 'dlopen.cjs')
  const own = [
    '--disable_bug_detectors=path-traversal',
    '--disable_bug_detectors=command-injection',
    '-i',
    'build/src/',
    '-i',
    'targets/planted',
  ]
  const child = spawn(process.execPath, [jazzer, harness, corpus, ...own, '--', ...words], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    // The fuzzer starts itself again to make a corpus smaller.
    env: {
      ...process.env,
      ...addonEnvironment(join(HOME, 'addon')),
      NODE_OPTIONS: `--require=${hook}`,
      HOLDFAST_FUZZ_MODULE: compiled(module),
      HOLDFAST_FUZZ_TARGET: name,
    },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  await once(child, 'close')
  return said
}

/** The fuzzer cannot load TypeScript, which tests run from. */
function compiled(module: string): string {
  return module.replace(/\/test\/fuzz\/targets\/(\w+)\.ts$/, '/build/test/fuzz/targets/$1.js')
}
