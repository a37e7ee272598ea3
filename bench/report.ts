/** Figures for people: a table for the terminal, and the page docs/benchmarks.md. */
import { type Comparison, comparisonSection } from './compare/report.ts'
import { type Bar, type Benchmark, type Figure, meets, type Unit } from './harness.ts'
import type { Machine } from './machine.ts'

export interface Result {
  readonly benchmark: Benchmark
  readonly figures: readonly Figure[]
}

const HEADINGS = ['benchmark', 'what', 'figure', 'lowest', 'highest', 'must be', 'met']

export function table(results: readonly Result[]): string {
  return columns([HEADINGS, ...results.flatMap(rowsOf)])
}

/** Rows for a terminal: the columns under each other. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function machineLines(machine: Machine): string[] {
  const { cpu, cores, system, node, fileSystem, date, load } = machine
  return [
    `Processor: ${cpu}, ${cores} cores`,
    `System: ${system}, Node ${node}`,
    `File system: ${fileSystem}`,
    `Date: ${date}`,
    `Load of the machine before: ${load.toFixed(2)}`,
  ]
}

/** What was measured last of one benchmark, and where. */
export interface Measured {
  readonly machine: Machine
  readonly figures: readonly Figure[]
}

/** The page, from what was measured last of each benchmark, and of the comparison. */
export function page(results: readonly (Result & Measured)[], comparison: Comparison): string {
  return `# Benchmarks

Written by \`npm run bench -- --write\` and \`npm run compare -- --write\` from docs/benchmarks.json and docs/comparison.json, which keep the figures of the last runs.
What is held against another was measured in the same run.

${comparisonSection(comparison)}

${results.map(section).join('\n\n')}

## How it is measured

Every append is durable before it is answered: each figure includes \`fdatasync\`. A record is a line of 1 KiB, with the address of the
message before it, and the key of its own message, which goes into the id files. Segments are sealed and new ones made all the while,
and what that costs is in the figures.

## How to read it

A figure is the median of several rounds, beside the lowest and the highest of them. What is held against another was measured in turns
with it in the same run, and the ratio was taken turn by turn, because disks and shared machines change from minute to minute. So compare
ratios, and compare appends per second only within one run. "Must be" is what a release has to show on a local disk.

The bare loop is \`await handle.write(line)\` and \`await handle.datasync()\` on a file opened for appending: the least that Node can do to put
1 KiB on a disk for good. It reads nothing, decides nothing and checks nothing.

On a disk whose sync is slow, the ratio of one caller comes closer to 1 and that of many callers grows, since what they share is the sync.

## Run it

\`\`\`sh
npm run bench                             # all of it
npm run bench -- --only open,commits      # some
npm run bench -- --write                  # and put the figures into docs
npm run bench -- --quick                  # to see that it works
npm run bench -- --dir /a/directory       # on another disk
npm run bench -- --check                  # ends with 1 if something is not met
npm run bench -- --json                   # for programs
npm run compare                           # the comparison; takes the same options but --check; --only speed or survival
\`\`\`
`
}

function section({ benchmark, machine, figures }: Result & Measured): string {
  const row = (cells: readonly string[]): string => `| ${cells.slice(1).join(' | ')} |`
  const rows = [row(HEADINGS), row(HEADINGS.map(() => '---')), ...rowsOf({ benchmark, figures }).map(row)]
  return `## ${benchmark.name}\n\n${benchmark.about}\n\n${rows.join('\n')}\n\n${machineLines(machine).join(' · ')}`
}

function rowsOf({ benchmark, figures }: Result): string[][] {
  return figures.map((figure) => [
    benchmark.name,
    figure.name,
    `${show(figure.median, figure.unit)} ${figure.unit}`,
    show(figure.low, figure.unit),
    show(figure.high, figure.unit),
    figure.bar === undefined ? '' : showBar(figure.bar, figure.unit),
    figure.bar === undefined ? '' : meets(figure) ? 'yes' : 'NO',
  ])
}

function showBar({ is, value }: Bar, unit: Unit): string {
  return `${is} ${value} ${unit}`
}

function show(value: number, unit: Unit): string {
  if (unit.endsWith('/s')) return Math.round(value).toLocaleString('en')
  return value.toFixed(2)
}
