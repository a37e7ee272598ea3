/** The inputs that are kept for a target, as a tar archive: what reaches a place that nothing smaller reaches, and what once broke the target. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Budget } from '../../src/formats/budget.ts'
import { filesInTar, tarOf } from '../../src/formats/tar.ts'

export function keptCorpus(target: string): Buffer[] {
  const file = fileOf(target)
  return existsSync(file) ? [...filesInTar(gunzipSync(readFileSync(file)), new Budget())].map(({ bytes }) => Buffer.from(bytes)) : []
}

/** Each run begins with all of them, and some targets take 30 ms for one. */
const MOST_KEPT = 150

export function keepCorpus(target: string, found: readonly Buffer[]): void {
  const every = Math.ceil(found.length / MOST_KEPT)
  const inputs = found.filter((_, index) => index % every === 0)
  const file = fileOf(target)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, gzipSync(tarOf(inputs.map((bytes, index) => ({ path: String(index), bytes }))), { level: 9 }))
}

function fileOf(target: string): string {
  const url = new URL(`corpus/${target}.tar.gz`, import.meta.url)
  return fileURLToPath(url).replace(/build([/\\]test[/\\]fuzz[/\\]corpus)/, (_, rest: string) => rest.slice(1))
}
