/** The comparison for people: a table for the terminal, and a section of docs/benchmarks.md. */
import type { Machine } from '../machine.ts'
import { columns, machineLines } from '../report.ts'
import type { Contender } from './contender.ts'
import { ahead, type Row } from './row.ts'

/** What came of one run. */
export interface Compared {
  readonly machine: Machine
  readonly contenders: readonly Pick<Contender, 'name' | 'about' | 'keeps'>[]
  /** Who could not take part, and why. */
  readonly absent: readonly { readonly name: string; readonly why: string }[]
  readonly rows: readonly Row[]
}

const KEEPS = { sync: 'syncs each append', write: 'does not sync', memory: 'keeps nothing' } as const
const NOTHING = '–'

export function comparisonTable({ machine, contenders, absent, rows }: Compared): string {
  // A column for each row: contenders have short names, and there may be many of them.
  const cells = rows.map((row) =>
    columns([['', ''], ...contenders.map(({ name, keeps }) => [`  ${name} (${KEEPS[keeps]})`, textOf(row, name)])]).trim(),
  )
  const told = rows.map((row, i) => [row.name, `  ${cells[i]}`, ...noteLines(row, contenders)].join('\n'))
  return [...machineLines(machine), ...absent.map(({ name, why }) => `${name} could not take part: ${why}`), '', told.join('\n\n')].join(
    '\n',
  )
}

export function comparison({ machine, contenders, absent, rows }: Compared): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  const heading = ['', ...contenders.map(({ name }) => name), 'where another one that syncs is ahead']
  const lines = rows.map((row) =>
    line([row.name, ...contenders.map(({ name }) => emphasised(row, name, contenders)), noteLines(row, contenders).join(' ').trim()]),
  )
  return `## Against what one would use instead

Measured side by side by \`npm run compare\`. Every contender has a process of its own, all take turns, and a time is the median of five rounds, with the lowest and the highest. The best of those that
sync is set in bold; a row that Holdfast loses stays, with the reason beside it.

${line(heading)}
${line(heading.map(() => '---'))}
${lines.join('\n')}

${contenders.map(({ name, about, keeps }) => `- **${name}** ${KEEPS[keeps]}: ${about}.`).join('\n')}
${absent.map(({ name, why }) => `- **${name}** could not take part: ${why}\n`).join('')}
Who does not sync answers before the disk has anything, and forgets at a power cut what it acknowledged; none of the rows cuts the power. A list and a search come right after an append that they must show.
Processes are killed with messages of 20 KB under way, and the one that nobody was told about is sent again. Bits are flipped in and beside messages, in a copy of the store each time, and everything is read afterwards. The full disk is a small
one in memory: what was refused must stay away, and appends must go on once there is room.

${machineLines(machine).join(' · ')}`
}

function textOf({ cells }: Row, name: string): string {
  return cells[name]?.text ?? NOTHING
}

function emphasised(row: Row, name: string, contenders: Compared['contenders']): string {
  const synced = contenders.filter(({ keeps }) => keeps === 'sync').flatMap((one) => row.cells[one.name]?.value ?? [])
  const isFirst = contenders.some((one) => one.name === name && one.keeps === 'sync') && row.cells[name]?.value === Math.min(...synced)
  return isFirst ? `**${textOf(row, name)}**` : textOf(row, name)
}

function noteLines(row: Row, contenders: Compared['contenders']): string[] {
  const leaders = ahead(row, contenders)
  return leaders.length === 0 ? [] : [`  ${leaders.join(', ')} ${leaders.length === 1 ? 'is' : 'are'} ahead. ${row.whenBehind}`]
}
