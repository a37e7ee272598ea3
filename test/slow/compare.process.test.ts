/** A quick run of `npm run compare`, with whoever is installed, and what is made of it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Comparison, comparisonSection } from '../../bench/compare/report.ts'
import { ahead } from '../../bench/compare/row.ts'
import { ROOT } from '../tidy/sources.ts'

function compare(...words: readonly string[]) {
  return spawnSync(process.execPath, [join(ROOT, 'build/bench/compare/main.js'), ...words], { encoding: 'utf8', cwd: ROOT })
}

test('whatever happens to it, Holdfast loses, doubles and hides nothing; those that say so sync; and a row that it loses stays, with the reason', () => {
  const { status, stdout, stderr } = compare('--quick', '--json')
  expect(status, stderr).toBe(0)
  const comparison = JSON.parse(stdout) as Required<Comparison>
  const { speed, survival } = comparison
  expect(speed.contenders.length + speed.absent.length).toBe(8)
  const rows = [...speed.rows, ...survival.rows]
  const cells = rows.flatMap((row) => Object.entries(row.cells).map(([name, { text }]) => `${row.name}, ${name}: ${text}`))
  expect(cells.filter((text) => text.includes('failed'))).toEqual([])
  expect(speed.rows).toHaveLength(8)
  expect(survival.rows).toHaveLength(5)
  for (const row of survival.rows) expect(row.cells.Holdfast, row.name).toMatchObject({ value: 0 })

  const syncs = survival.rows.find(({ name }) => name === 'syncs for one append')
  for (const { name, keeps } of survival.contenders) {
    const [, counted] = /: ([\d.]+)$/.exec(syncs?.cells[name]?.text ?? '') ?? []
    if (counted !== undefined) expect(Number(counted) >= 1, `${name} syncs ${counted} times`).toBe(keeps === 'sync')
  }

  const page = comparisonSection(comparison)
  for (const row of rows) {
    expect(page).toContain(`| ${row.name} |`)
    if (ahead(row, speed.contenders).length > 0) expect(page).toContain(row.whenBehind)
  }
})

test('a quick run is not written down', () => {
  expect(compare('--quick', '--write')).toMatchObject({ status: 2, stdout: '' })
})
