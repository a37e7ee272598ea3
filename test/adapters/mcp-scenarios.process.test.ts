/** The protocol's own conformance scenarios, as its authors publish them, against the server as its users have it. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { ServerProcess, storeDirectory } from '../server/process.ts'
import { ROOT } from '../tidy/sources.ts'

/** `npm run test:peers` names a newer one, and the package that it has installed. */
const PROGRAM = process.env.HOLDFAST_CONFORMANCE ?? join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const INSTALLED = process.env.HOLDFAST_PEERS
const MAIN = INSTALLED === undefined ? {} : { main: join(INSTALLED, 'node_modules/holdfast/dist/cli/start.cjs') }

/** Scenarios that ask for a tool, a prompt or a resource made for them, by its name: `test_simple_text`, `test://static-text` and so on. */
const NEED_FIXTURES = [
  /^tools-call-/,
  /^elicitation-/,
  /^prompts-get-/,
  /^resources-(?:read-|templates-read|subscribe|unsubscribe)/,
  /^(?:completion-complete|json-schema-2020-12|server-sse-polling)$/,
]

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED'
  readonly errorMessage?: string
  readonly details?: { readonly message?: string }
}

/** What each scenario found, by its name. */
async function checksOf(url: string): Promise<Map<string, Check[]>> {
  if (!existsSync(PROGRAM)) throw new Error('@modelcontextprotocol/conformance is not installed: run npm ci.')
  const out = mkdtempSync(join(tmpdir(), 'holdfast-scenarios-'))
  onTestFinished(() => rmSync(out, { recursive: true, force: true }))
  // It ends with 1 as soon as one scenario does not get its fixture; what it writes down tells which.
  await promisify(execFile)(process.execPath, [PROGRAM, 'server', '--url', url, '--suite', 'all', '--output-dir', out]).catch(
    () => undefined,
  )
  return new Map(
    readdirSync(out).map((name) => [
      name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, ''),
      JSON.parse(readFileSync(join(out, name, 'checks.json'), 'utf8')) as Check[],
    ]),
  )
}

test('every conformance scenario of the protocol that needs no fixture passes', async () => {
  const server = await ServerProcess.start(storeDirectory(), ['--no-auth'], MAIN)
  const found = await checksOf(`${server.url}/mcp`)
  const asked = [...found].filter(([name]) => !NEED_FIXTURES.some((pattern) => pattern.test(name)))
  expect(
    asked.flatMap(([name, checks]) => checks.filter(({ status }) => status === 'FAILURE').map((check) => ({ name, ...check }))),
  ).toEqual([])
  const passed = asked.filter(([, checks]) => checks.some(({ status }) => status === 'SUCCESS')).map(([name]) => name)
  expect(passed.sort()).toEqual([
    'dns-rebinding-protection',
    'logging-set-level',
    'ping',
    'prompts-list',
    'resources-list',
    'server-initialize',
    'tools-list',
  ])
  // The one that is left speaks of sessions of the transport, and a server that has none is told apart, not failed.
  const others = asked.filter(([name]) => !passed.includes(name))
  expect(others).toMatchObject([
    ['server-sse-multiple-streams', [{ status: 'WARNING', details: { message: expect.stringContaining('session ID') } }]],
  ])
})
