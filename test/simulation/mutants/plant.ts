/** Makes a copy of the compiled code with a bug planted in it, and runs the simulation there. */
import { spawn } from 'node:child_process'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { CATCHING_SEEDS } from './catching-seeds.ts'
import type { Mutant } from './mutants.ts'

/** This file runs from build/test/simulation/mutants/ or, under a test runner, from its source. */
const ROOT = fileURLToPath(new URL(import.meta.url.includes('/build/') ? '../../../../' : '../../../', import.meta.url))

/** Returns where the copy lies. Throws if an edit does not fit the sources any more. */
export async function plant(mutant: Mutant): Promise<string> {
  const home = join(ROOT, 'build/mutants', mutant.name.replaceAll(/[^a-z]+/g, '-'))
  await rm(home, { recursive: true, force: true })
  for (const part of ['src', 'test/simulation']) await cp(join(ROOT, 'build', part), join(home, part), { recursive: true, filter: isRun })
  for (const file of new Set(mutant.edits.map((edit) => edit.file))) {
    let source = await readFile(join(ROOT, file), 'utf8')
    for (const { find, replace } of mutant.edits.filter((edit) => edit.file === file)) {
      const parts = source.split(find)
      if (parts.length !== 2) throw new Error(`Mutant "${mutant.name}": found ${parts.length - 1} times in ${file}: ${find}`)
      source = parts.join(replace)
    }
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        verbatimModuleSyntax: true,
        rewriteRelativeImportExtensions: true,
      },
    })
    await writeFile(join(home, file.replace(/\.ts$/, '.js')), outputText)
  }
  return home
}

/** Half of the files are source maps and tests, and copying takes longer than most seeds. */
function isRun(path: string): boolean {
  return !/\.(?:map|test\.js)$/.test(path)
}

export interface Caught {
  /** The first seed that broke; undefined if none did. */
  readonly seed: number | undefined
  readonly output: string
}

/** Plants a bug and runs the seeds that caught it before, then up to `patience` others, until one breaks. */
export async function catchMutant(mutant: Mutant, patience: number): Promise<Caught> {
  const home = await plant(mutant)
  for (const seed of CATCHING_SEEDS[mutant.name] ?? []) {
    const caught = await runSeeds(home, mutant, seed, 1)
    if (caught.seed !== undefined) return caught
  }
  const found = await runSeeds(home, mutant, mutant.seed, patience)
  if (found.seed !== undefined) process.stdout.write(`"${mutant.name}": add seed ${found.seed} to catching-seeds.ts\n`)
  return found
}

export function runSeeds(home: string, { trouble, harm, store, workers }: Mutant, from: number, seeds: number): Promise<Caught> {
  const focus = [...(trouble === undefined ? [] : ['--trouble', trouble]), ...(harm === undefined ? [] : ['--harm', '--focus', harm])]
  const args = [
    join(home, 'test/simulation/main.js'),
    '--from',
    String(from),
    '--seeds',
    String(seeds),
    '--until-broken',
    '--quiet',
    ...(store === true ? ['--store'] : []),
    ...(workers === true ? ['--workers'] : []),
    ...focus,
  ]
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString()
    })
    child.stderr.on('data', (data: Buffer) => {
      output += data.toString()
    })
    child.on('error', reject)
    child.on('close', () => {
      const broken = /^seed (\d+): /m.exec(output)
      // The edit no longer fits the code around it: every run breaks, and none shows that the bug is caught.
      const isNoBug = /\b(ReferenceError|SyntaxError|is not a function)\b/.test(output)
      if (isNoBug) reject(new Error(`This mutant is broken code, not a bug:\n${output}`))
      resolve({ seed: broken === null ? undefined : Number(broken[1]), output })
    })
  })
}
