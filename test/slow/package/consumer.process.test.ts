/** The package as another project sees it: packed, installed, and compiled under strict rules, with its declaration files checked as well. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SDKS, TALK, TYPED } from './consumer-sources.ts'

const ROOT = join(import.meta.dirname, '../../..')
const run = promisify(execFile)
const require = createRequire(import.meta.url)
const COMPILERS = { 'TypeScript 5.9': require.resolve('typescript-5.9/bin/tsc'), 'TypeScript 6': require.resolve('typescript/bin/tsc') }

/** Packages whose types a source uses. They are linked, because this package has them installed. */
const SDK_NAMES = ['ai', 'openai', '@anthropic-ai/sdk', '@langchain/core', '@openai/agents-core']

let project: string
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'holdfast-consumer-'))
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', project], { cwd: ROOT })
  const [packed] = (await readdir(project)).filter((name) => name.endsWith('.tgz'))
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }))
  for (const [name, source] of Object.entries({ talk: TALK, typed: TYPED, sdks: SDKS }))
    await writeFile(join(project, `${name}.ts`), source)
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed}`, '@types/node@20'], { cwd: project })
  for (const name of SDK_NAMES) {
    await mkdir(dirname(join(project, 'node_modules', name)), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
  }
}, 300_000)
afterAll(() => rm(project, { recursive: true, force: true }))

const STRICT = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false, noEmit: true }
const ENVIRONMENT = { target: 'es2022', lib: ['es2023', 'esnext.disposable'], types: ['node'] }

test.each([
  ['TypeScript 5.9', 'node16', 'node16'],
  ['TypeScript 5.9', 'esnext', 'bundler'],
  ['TypeScript 6', 'node16', 'node16'],
  ['TypeScript 6', 'esnext', 'bundler'],
] as const)('compiles with %s, module %s and resolution %s', async (compiler, module, moduleResolution) => {
  expect(await complaints(compiler, ['talk.ts', 'typed.ts'], { ...STRICT, ...ENVIRONMENT, module, moduleResolution })).toBe('')
})

test.each(['TypeScript 5.9', 'TypeScript 6'] as const)('messages and windows fit the types of the SDKs with %s', async (compiler) => {
  // The declarations of the SDKs are theirs to check, and need the types of a browser.
  const options = { ...STRICT, ...ENVIRONMENT, lib: [...ENVIRONMENT.lib, 'dom', 'dom.iterable'], skipLibCheck: true }
  expect(await complaints(compiler, ['sdks.ts'], { ...options, module: 'esnext', moduleResolution: 'bundler' })).toBe('')
})

async function complaints(compiler: keyof typeof COMPILERS, files: readonly string[], compilerOptions: object): Promise<string> {
  const config = join(project, `${compiler} ${JSON.stringify(files).replace(/\W/g, '')}.json`)
  await writeFile(config, JSON.stringify({ compilerOptions, files }))
  const compiled = run(process.execPath, [COMPILERS[compiler], '-p', config], { cwd: project })
  return compiled.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  )
}
