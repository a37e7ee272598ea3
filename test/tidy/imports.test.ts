import { expect, test } from 'vitest'
import { findCycles } from './cycles.ts'
import { checkImports } from './imports.ts'
import { readSources } from './sources.ts'

function check(path: string, text: string): string[] {
  return checkImports([{ path, text }])
}

test('the sources keep the direction of imports, the pure modules pure and the disk behind its port', () => {
  const files = [...readSources('src', ['.ts']), ...readSources('web', ['.ts', '.tsx'])]
  expect(files.length).toBeGreaterThan(0)
  expect(checkImports(files)).toEqual([])
})

test.each([
  ['src/record/line.ts', "import { open } from '../store/open-store.ts'", 'record is below store'],
  ['src/errors.ts', "import type { State } from './session/state.ts'", 'errors is below session'],
  ['src/engine/port.ts', "export { files } from '../engines/files/index.ts'", 'engine is below engines'],
  ['src/window/turns.ts', "const store = await import('../store/read.ts')", 'window is below store'],
  ['src/session/apply.ts', "type Plan = import('../commit/plan.ts').Plan", 'session is below commit'],
  ['src/store/read.ts', "export * from '../server/routes.ts'", 'store is below server'],
  ['src/server/app.ts', "import { main } from '../cli/main.ts'", 'server is below cli'],
  ['src/cli/main.ts', "import { openStore } from '../index.ts'", 'cli is below index'],
  ['src/journal/tail.ts', "import type { State } from '../store/state.ts'", 'journal is below store'],
  ['src/catalog/put.ts', "const { openStore } = await import('../store/open-store.ts')", 'catalog is below store'],
  ['src/record/line.test.ts', "import { open } from '../store/open-store.ts'", 'record is below store'],
  ['src/engines/files/index.ts', "import { names } from '../memory/names.ts'", 'the engine files must not know the engine memory'],
  ['src/store/read.ts', "import { memory } from '../engines/memory/index.ts'", 'pick an engine'],
  ['src/commit/worker.ts', "import type { Files } from '../engines/files/index.ts'", 'pick an engine'],
  ['src/store/read.ts', "import { fake } from '../../test/fake.ts'", 'not part of the package'],
  ['src/store/read.ts', "import { HoldfastError } from 'holdfast'", 'paths are relative'],
  ['src/store/read.ts', 'await import(path)', 'computed path'],
  ['src/misplaced/read.ts', "import '../errors.ts'", 'which the order does not name'],
  ['src/store/read.ts', "import '../misplaced/read.ts'", 'the order does not name the module "misplaced"'],
  ['web/app.ts', "import { openStore } from '../src/index.ts'", 'web sees the client only'],
  ['web/pages/list.tsx', "import { HoldfastError } from '../../src/errors.ts'", 'web sees the client only'],
  ['web/app.ts', "import { openStore } from 'holdfast'", 'web sees the client only'],
])('%s may not say: %s', (path, text, complaint) => {
  expect(check(path, text)).toContainEqual(expect.stringMatching(new RegExp(`^${path}:1 .*${complaint}`)))
})

test.each([
  ['src/session/decide.ts', "import { readFileSync } from 'node:fs'", 2],
  ['src/formats/jsonl.ts', "import { readFile } from 'fs/promises'", 2],
  ['src/record/line.ts', "import net from 'node:net'", 1],
  ['src/record/line.ts', "import http from 'node:http'", 1],
  ['src/message/text.ts', "import { spawn } from 'node:child_process'", 1],
  ['src/window/budget.ts', "import { Worker } from 'node:worker_threads'", 1],
  ['src/window/budget.ts', 'const now = Date.now()', 1],
  ['src/window/budget.ts', 'const now = new Date().toISOString()', 1],
  ['src/session/decide.ts', 'const id = Math.random()', 1],
  ['src/session/decide.ts', 'const id = crypto.randomUUID()', 1],
  ['src/record/limits.ts', 'const depth = process.env.DEPTH', 1],
  ['src/store/read.ts', "import { readFileSync } from 'node:fs'", 1],
  ['src/engines/files/segment.ts', "import { open } from 'node:fs/promises'", 1],
])('%s may not reach outside: %s', (path, text, complaints) => {
  expect(check(path, text)).toHaveLength(complaints)
})

test.each([
  ['src/store/read.ts', "import { decodeLine } from '../record/line.ts'; import { put } from '../catalog/put.ts'"],
  ['src/store/open-store.ts', "import { memory } from '../engines/memory/index.ts'"],
  ['src/index.ts', "export { openStore } from './store/open-store.ts'"],
  ['src/cli/main.ts', "import { readFileSync } from 'node:fs'; import { files } from '../engines/files/index.ts'"],
  ['src/engines/files/node-disk.ts', "import { open } from 'node:fs/promises'"],
  ['src/engines/files/segment.ts', "import type { Disk } from './disk.ts'; import type { Engine } from '../../engine/port.ts'"],
  ['src/engines/files/segment.test.ts', "import { mkdtempSync } from 'node:fs'"],
  ['src/store/read.test.ts', "import { memory } from '../engines/memory/index.ts'"],
  ['src/store/read.test.ts', "import { fake } from '../../test/fake.ts'"],
  ['src/record/line.ts', "import { crc32 } from 'node:zlib'; const at = new Date(value); const s = 'Date.now()' // Math.random()"],
  ['web/app.ts', "import { connect } from '../src/client/index.ts'; import { useState } from 'react'"],
  ['web/app.ts', "import { connect } from 'holdfast/client'; import { list } from './pages/list.ts'"],
])('%s may say: %s', (path, text) => {
  expect(check(path, text)).toEqual([])
})

test('no files import one another in a circle', () => {
  const files = readSources('src', ['.ts', '.cts']).filter(({ path }) => !path.endsWith('.test.ts'))
  expect(files.length).toBeGreaterThan(0)
  expect(findCycles(files)).toEqual([])
})

test('a cycle is found through types, dynamic imports and other files', () => {
  const files = [
    { path: 'src/a.ts', text: "import type { B } from './b.ts'" },
    { path: 'src/b.ts', text: "export const load = () => import('./deep/c.ts')" },
    { path: 'src/deep/c.ts', text: "export * from '../a.ts'" },
    { path: 'src/d.ts', text: "import { a } from './a.ts'" },
    { path: 'src/e.ts', text: "import { f } from './f.ts'" },
    { path: 'src/f.ts', text: "import { e } from './e.ts'" },
  ]
  expect(findCycles(files)).toEqual([
    ['src/a.ts', 'src/b.ts', 'src/deep/c.ts'],
    ['src/e.ts', 'src/f.ts'],
  ])
})
