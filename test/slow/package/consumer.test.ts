/** The package as another project sees it: packed, installed, and compiled under strict rules, with its declaration files checked as well. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const run = promisify(execFile)
const require = createRequire(import.meta.url)
const COMPILERS = { 'TypeScript 5.9': require.resolve('typescript-5.9/bin/tsc'), 'TypeScript 6': require.resolve('typescript/bin/tsc') }

const SOURCE = `
import { doctor, exportFrom, HoldfastError, importInto, LIMITS, openStore, type RevertTarget, type Session, sourcesAt, Worker } from 'holdfast'
import { connect } from 'holdfast/client'
import type { Engine } from 'holdfast/engine'
import { openPostgresEngine } from 'holdfast/postgres'
import { Server } from 'holdfast/server'
export * as conformance from 'holdfast/conformance'
export * as hook from 'holdfast/hooks/claude-code'
export { connect, doctor, exportFrom, importInto, openPostgresEngine, Server, sourcesAt, Worker }

export async function talk(directory: string, back: RevertTarget): Promise<number> {
  await using store = await openStore(directory)
  const session: Session = store.session('support-42')
  const { id } = await session.append({ role: 'user', content: 'x'.repeat(LIMITS.idBytes) })
  await session.fork({ at: id })
  await session.revert(back)
  for await (const piece of exportFrom(store)) if (piece === '') throw new HoldfastError('NOT_FOUND', 'An empty piece.')
  return (await session.info()).messageCount
}

export function nameOf(engine: Engine): string {
  return engine.name('default', 'support-42')
}
`

let project: string
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'holdfast-consumer-'))
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', project], { cwd: ROOT })
  const [packed] = (await readdir(project)).filter((name) => name.endsWith('.tgz'))
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
  await writeFile(join(project, 'consumer.ts'), SOURCE)
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed}`, '@types/node@20'], { cwd: project })
}, 300_000)
afterAll(() => rm(project, { recursive: true, force: true }))

test.each([
  ['TypeScript 5.9', 'node16', 'node16'],
  ['TypeScript 5.9', 'esnext', 'bundler'],
  ['TypeScript 6', 'node16', 'node16'],
  ['TypeScript 6', 'esnext', 'bundler'],
] as const)('compiles with %s, module %s and resolution %s', async (compiler, module, moduleResolution) => {
  const compilerOptions = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false, noEmit: true },
    ...{ target: 'es2022', lib: ['es2023', 'esnext.disposable'], types: ['node'], module, moduleResolution },
  }
  const config = join(project, `${compiler} ${module}.json`)
  await writeFile(config, JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
  const compiled = run(process.execPath, [COMPILERS[compiler], '-p', config], { cwd: project })
  const complaints = await compiled.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  )
  expect(complaints).toBe('')
})
