/**
 * Runs once before all tests: brings `build/` (programs that tests start as processes) and `dist/` (the package as its users get it)
 * up to date, unless HOLDFAST_BUILT=1 says that the caller has just done so.
 *
 * Type errors are printed but stop nothing here: tsc has written its output all the same, and `npm run check` is what judges types.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stopSharedServer } from './postgres/server.ts'

export async function setup(): Promise<void> {
  if (process.env.HOLDFAST_BUILT === '1') return
  await Promise.all([build('--tests'), build()])
}

/** Tests that need PostgreSQL have started one server for all of them. */
export async function teardown(): Promise<void> {
  await stopSharedServer()
}

async function build(...words: string[]): Promise<void> {
  const child = spawn(process.execPath, ['scripts/build.mjs', ...words], { stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  if (code !== 0) process.stderr.write('warning: the build has errors (above); the tests run on what it could emit\n')
}
