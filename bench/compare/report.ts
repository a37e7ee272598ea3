/** The comparison for people: tables for the terminal, and a section of docs/benchmarks.md. */
import type { Machine } from '../machine.ts'
import { columns, machineLines } from '../report.ts'
import type { Contender } from './contender.ts'
import { ahead, type Row } from './row.ts'

/** What came of one half of it, in one run, with all who took part. */
export interface Compared {
  readonly machine: Machine
  readonly contenders: readonly Pick<Contender, 'name' | 'about' | 'keeps'>[]
  /** Who could not take part, and why. */
  readonly absent: readonly { readonly name: string; readonly why: string }[]
  readonly rows: readonly Row[]
}

export type Part = 'speed' | 'survival'
export type Comparison = Readonly<Partial<Record<Part, Compared>>>

const KEEPS = { sync: 'syncs each append', write: 'does not sync', memory: 'keeps nothing' } as const
const NOTHING = '–'

const ABOUT: Readonly<Record<Part, string>> = {
  speed: `How long one of each takes, in milliseconds: the median of five rounds, with the lowest and the highest; of whoever needs more than a second, one. Messages are of 1 KiB. A list and a search
come right after an append that they must show.`,
  survival: `What is left when something goes wrong. Processes are killed with messages of 20 KB under way, and the one that nobody was told about is sent again. Bits are flipped in and beside messages, in a copy of
the store each time, and everything is read afterwards. The full disk is a small one in memory: what was refused must stay away, and appends must go on once there is room. Syncs are counted by strace. No row cuts the power: who does not sync
forgets then what it had acknowledged.`,
}

export function comparisonTables(comparison: Comparison): string {
  return parts(comparison)
    .map(([, { machine, contenders, absent, rows }]) => {
      const cells = (row: Row) => contenders.map(({ name, keeps }) => [`  ${name} (${KEEPS[keeps]})`, textOf(row, name)])
      const told = rows.map((row) => [row.name, columns(cells(row)), ...notes(row, contenders).map((note) => `  ${note}`)].join('\n'))
      const missing = absent.map(({ name, why }) => `${name} did not take part: ${why}`)
      return [[...machineLines(machine), ...missing].join('\n'), ...told].join('\n\n')
    })
    .join('\n\n')
}

export function comparisonSection(comparison: Comparison): string {
  const all = parts(comparison)
  const contenders = new Map(all.flatMap(([, compared]) => compared.contenders.map((one) => [one.name, one])))
  return `## Against what one would use instead

Measured side by side by \`npm run compare\`. Every contender has a process of its own, and all take turns. The best of those that sync is set in bold; a row that Holdfast loses stays, with the reason
beside it.

${[...contenders.values()].map(({ name, about, keeps }) => `- **${name}** ${KEEPS[keeps]}: ${about}.`).join('\n')}

${all.map(([part, compared]) => tableOf(part, compared)).join('\n\n')}`
}

function parts(comparison: Comparison): [Part, Compared][] {
  return (['speed', 'survival'] as const).flatMap((part) => {
    const compared = comparison[part]
    return compared === undefined ? [] : [[part, compared]]
  })
}

function tableOf(part: Part, { machine, contenders, absent, rows }: Compared): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  const heading = ['', ...contenders.map(({ name }) => name), 'where another one that syncs is ahead']
  const lines = rows.map((row) =>
    line([row.name, ...contenders.map(({ name }) => emphasised(row, name, contenders)), notes(row, contenders).join(' ')]),
  )
  const missing = absent.map(({ name, why }) => `${name} did not take part: ${why}`)
  return [
    ABOUT[part],
    [line(heading), line(heading.map(() => '---')), ...lines].join('\n'),
    ...missing,
    machineLines(machine).join(' · '),
  ].join('\n\n')
}

function textOf({ cells }: Row, name: string): string {
  return cells[name]?.text ?? NOTHING
}

function emphasised(row: Row, name: string, contenders: Compared['contenders']): string {
  const synced = contenders.filter(({ keeps }) => keeps === 'sync').map((one) => one.name)
  const best = Math.min(...synced.flatMap((one) => row.cells[one]?.value ?? []))
  return synced.includes(name) && row.cells[name]?.value === best ? `**${textOf(row, name)}**` : textOf(row, name)
}

function notes(row: Row, contenders: Compared['contenders']): string[] {
  const leaders = ahead(row, contenders)
  return leaders.length === 0 ? [] : [`${leaders.join('; ')} ${leaders.length === 1 ? 'is' : 'are'} ahead. ${row.whenBehind}`]
}
