/**
 * What was measured last, which lies in docs/ as data, and the page that is made of it: by `npm run bench -- --write` and `npm run compare -- --write`, each of
 * which leaves what the other measured as it is.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BENCHMARKS } from './benchmarks.ts'
import type { Compared } from './compare/report.ts'
import { type Measured, page } from './report.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BENCHMARKS_FILE = join(ROOT, 'docs', 'benchmarks.json')
const COMPARISON_FILE = join(ROOT, 'docs', 'comparison.json')

interface Kept {
  /** By the name of the benchmark. */
  readonly measured: Readonly<Record<string, Measured>>
  readonly compared: Compared | undefined
}

export async function readKept(): Promise<Kept> {
  const [measured, compared] = await Promise.all([BENCHMARKS_FILE, COMPARISON_FILE].map((file) => readFile(file, 'utf8').catch(() => '')))
  return {
    measured: measured ? (JSON.parse(measured) as Kept['measured']) : {},
    compared: compared ? (JSON.parse(compared) as Compared) : undefined,
  }
}

export async function writeKept({ measured, compared }: Kept): Promise<void> {
  const all = BENCHMARKS.flatMap((benchmark) => {
    const last = measured[benchmark.name]
    return last === undefined ? [] : [{ benchmark, ...last }]
  })
  await writeFile(BENCHMARKS_FILE, json(Object.fromEntries(all.map(({ benchmark, ...last }) => [benchmark.name, last]))))
  if (compared !== undefined) await writeFile(COMPARISON_FILE, json(compared))
  await writeFile(join(ROOT, 'docs', 'benchmarks.md'), page(all, compared))
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
