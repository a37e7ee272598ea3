/** Whoever only keeps sessions does not pay for the server: its packages are not even loaded. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const SERVERS = /^(?:hono|zod|pino|prom-client|@hono\/|@opentelemetry\/)/

/** Tells of every package that is loaded, as a module or required. */
const TELL = `
import Module, { register } from 'node:module'
const load = Module._load
Module._load = function (id, ...rest) {
  process.stderr.write('LOADED ' + id + '\\n')
  return load.call(this, id, ...rest)
}
register('data:text/javascript,' + encodeURIComponent(\`
  import { writeSync } from 'node:fs'
  export const resolve = (id, context, next) => { writeSync(2, 'LOADED ' + id + '\\\\n'); return next(id, context) }
\`))
`

function loadedBy(...words: string[]): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-lazy-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const tell = join(directory, 'tell.mjs')
  writeFileSync(tell, TELL)
  const { stderr, status } = spawnSync(process.execPath, ['--import', tell, ...words], {
    encoding: 'utf8',
    env: { ...process.env, HOLDFAST_STORE: join(directory, 'store') },
  })
  expect(status, stderr).toBe(0)
  return [...stderr.matchAll(/^LOADED (.*)$/gm)].map(([, id]) => id as string).filter((id) => SERVERS.test(id))
}

const holdfast = (...words: string[]): string[] => loadedBy(join('dist', 'cli', 'start.cjs'), ...words)

test('append, list and the library load no package of the server', () => {
  expect(holdfast('append', 'a', 'x')).toEqual([])
  expect(holdfast('list')).toEqual([])
  expect(loadedBy('--input-type=module', '--eval', "import './dist/index.js'")).toEqual([])
  expect(loadedBy('--input-type=module', '--eval', "import './dist/client/index.js'")).toEqual([])
})

test('the server does, so that would be seen', () => {
  expect(loadedBy('--input-type=module', '--eval', "import './dist/server/index.js'")).toContain('@hono/zod-openapi')
})
