import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('../../build/test/processes/append-stack.js', import.meta.url))
const MOST_FILES = 12

test(`at most ${MOST_FILES} files are on the way from Session.append to fdatasync`, () => {
  const [line = '', ...more] = execFileSync(process.execPath, [PROGRAM], { encoding: 'utf8' }).trim().split('\n')
  expect(more, 'an append syncs once').toEqual([])
  const files = JSON.parse(line) as string[]
  expect(files).toEqual(expect.arrayContaining(['store/session.js', 'journal/replica.js', 'engines/files/node-disk.js']))
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(MOST_FILES)
})
