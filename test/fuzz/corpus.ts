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

export function keepCorpus(target: string, inputs: readonly Buffer[]): void {
  const file = fileOf(target)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, gzipSync(tarOf(inputs.map((bytes, index) => ({ path: String(index), bytes }))), { level: 9 }))
}

function fileOf(target: string): string {
  const url = new URL(`corpus/${target}.tar.gz`, import.meta.url)
  return fileURLToPath(url).replace(/build([/\\]test[/\\]fuzz[/\\]corpus)/, (_, rest: string) => rest.slice(1))
}
