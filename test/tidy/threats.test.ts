import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './sources.ts'

const CITED = /\[[^\]]+\]\(\.\.\/([^)]+\.test\.ts)\): `([^`]+)`/g

test('every test that docs/threat-model.md names is there', () => {
  const page = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8')
  const cited = [...page.matchAll(CITED)].map(([, file = '', name = '']) => ({ file, name }))
  expect(cited.length).toBeGreaterThan(20)
  const missing = cited.filter(({ file, name }) => !readFileSync(join(ROOT, file), 'utf8').includes(`'${name}'`))
  expect(missing).toEqual([])
})
