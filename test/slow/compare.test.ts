/** A quick run of `npm run compare`, with whoever is installed, and what is made of it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Compared, comparison } from '../../bench/compare/report.ts'
import { ahead } from '../../bench/compare/row.ts'
import { ROOT } from '../tidy/sources.ts'

function compare(...words: readonly string[]) {
  return spawnSync(process.execPath, [join(ROOT, 'build/bench/compare/main.js'), ...words], { encoding: 'utf8', cwd: ROOT })
}

test('whatever happens to it, Holdfast loses, doubles and hides nothing; those that say so sync; and a row that it loses stays, with the reason', () => {
  const { status, stdout, stderr } = compare('--quick', '--json')
  expect(status, stderr).toBe(0)
  const compared = JSON.parse(stdout) as Compared
  expect(compared.contenders.length + compared.absent.length).toBe(8)
  const cells = compared.rows.flatMap((row) => Object.entries(row.cells).map(([name, { text }]) => `${row.name}, ${name}: ${text}`))
  expect(cells.filter((text) => text.includes('failed'))).toEqual([])
  const timings = compared.rows.filter(({ name }) => name.endsWith(', ms'))
  expect(timings).toHaveLength(8)
  for (const row of compared.rows.slice(timings.length)) expect(row.cells.Holdfast, row.name).toMatchObject({ value: 0 })

  const syncs = compared.rows.find(({ name }) => name === 'syncs for one append')
  for (const { name, keeps } of compared.contenders) {
    const [, counted] = /: ([\d.]+)$/.exec(syncs?.cells[name]?.text ?? '') ?? []
    if (counted !== undefined) expect(Number(counted) >= 1, `${name} syncs ${counted} times`).toBe(keeps === 'sync')
  }

  const page = comparison(compared)
  for (const row of compared.rows) {
    expect(page).toContain(`| ${row.name} |`)
    if (ahead(row, compared.contenders).length > 0) expect(page).toContain(row.whenBehind)
  }
})

test('a quick run is not written down', () => {
  expect(compare('--quick', '--write')).toMatchObject({ status: 2, stdout: '' })
})
