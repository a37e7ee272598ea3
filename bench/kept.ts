/**
 * What was measured last, which lies in docs/ as data, and the page that is made of it: by `npm run bench -- --write` and `npm run compare -- --write`, each of
 * which leaves what the other measured as it is.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BENCHMARKS } from './benchmarks.ts'
import type { Comparison } from './compare/report.ts'
import { type Measured, page } from './report.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BENCHMARKS_FILE = join(ROOT, 'docs', 'benchmarks.json')
const COMPARISON_FILE = join(ROOT, 'docs', 'comparison.json')

interface Kept {
  /** By the name of the benchmark. */
  readonly measured: Readonly<Record<string, Measured>>
  readonly comparison: Comparison
}

export async function readKept(): Promise<Kept> {
  const [measured, comparison] = await Promise.all([BENCHMARKS_FILE, COMPARISON_FILE].map((file) => readFile(file, 'utf8').catch(() => '')))
  return {
    measured: measured ? (JSON.parse(measured) as Kept['measured']) : {},
    comparison: comparison ? (JSON.parse(comparison) as Comparison) : {},
  }
}

export async function writeKept({ measured, comparison }: Kept): Promise<void> {
  const all = BENCHMARKS.flatMap((benchmark) => {
    const last = measured[benchmark.name]
    return last === undefined ? [] : [{ benchmark, ...last }]
  })
  await writeFile(BENCHMARKS_FILE, json(Object.fromEntries(all.map(({ benchmark, ...last }) => [benchmark.name, last]))))
  await writeFile(COMPARISON_FILE, json(comparison))
  await writeFile(join(ROOT, 'docs', 'benchmarks.md'), page(all, comparison))
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
