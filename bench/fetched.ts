/**
 * Packages that are measured against and that the project does not depend on, since some have to be compiled. They are installed into a directory
 * of their own beside the compiled files, once, when somebody measures.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const FETCHED = join(fileURLToPath(new URL('../..', import.meta.url)), 'build', 'fetched')

export interface Fetched {
  readonly name: string
  /** What npm is told to install: the package with its version, and what it must find beside it. */
  readonly install: readonly string[]
}

export function isFetched({ name }: Fetched): boolean {
  return existsSync(join(placeOf(name), 'node_modules', name))
}

/** Installs it if it is not there. Whether that worked is seen when it is imported. */
export function fetchPackage(wanted: Fetched): void {
  if (isFetched(wanted)) return
  console.error(`  installing ${wanted.install.join(' ')} into ${placeOf(wanted.name)}; it may have to be compiled …`)
  const cwd = placeOf(wanted.name)
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'package.json'), '{"private":true}')
  const words = ['install', '--no-audit', '--no-fund', ...wanted.install]
  spawnSync('npm', words, { cwd, timeout: 600_000, stdio: 'ignore', shell: process.platform === 'win32' })
}

/** Throws if it is not there or cannot be loaded. */
export async function importFetched({ name }: Fetched): Promise<unknown> {
  return import(pathToFileURL(createRequire(join(placeOf(name), 'package.json')).resolve(name)).href)
}

function placeOf(name: string): string {
  return join(FETCHED, name.replaceAll('/', '-'))
}
