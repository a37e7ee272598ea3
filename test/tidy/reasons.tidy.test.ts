/** Codes and reasons of errors: src/errors.ts, what the sources throw, and docs/errors.md agree. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { CODES, REASONS } from '../../src/errors.ts'
import { programOf, type ThrownReason, thrownReasons, unknownWrappers } from './reasons.ts'
import { ROOT, readSources } from './sources.ts'

const known = Object.keys(REASONS).length
const listed = Object.entries(REASONS).flatMap(([reason, { codes }]) => codes.map((code) => `${code} ${reason}`))
const sources = readSources('src', ['.ts']).filter(({ path }) => !path.endsWith('.test.ts'))
let found: readonly ThrownReason[] | undefined

/** Asks the type checker once for all tests. */
function thrown(): readonly ThrownReason[] {
  found ??= thrownReasons(programOf(sources.map(({ path }) => path)), known)
  return found
}

test('src/errors.ts lists every reason that the sources throw, with its code', () => {
  expect(thrown().length).toBeGreaterThan(30)
  expect(thrown().filter(({ code, reason }) => !listed.includes(`${code} ${reason}`))).toEqual([])
})

test('the sources throw every reason that src/errors.ts lists, with each of its codes', () => {
  const pairs = new Set(thrown().map(({ code, reason }) => `${code} ${reason}`))
  expect(listed.filter((pair) => !pairs.has(pair))).toEqual([])
})

test('no function hides the reasons of its callers from this check', () => {
  expect(unknownWrappers(sources)).toEqual([])
  const wrapper = { path: 'src/a.ts', text: 'function refused(details: ErrorDetails): HoldfastError {}' }
  expect(unknownWrappers([wrapper])).toEqual([expect.stringContaining('refused')])
})

test('an error with an unknown reason does not compile', () => {
  const head = "import { HoldfastError } from './errors.ts'\nexport const error = "
  const program = programOf(['src/errors.ts'], {
    'src/wrong.ts': `${head}new HoldfastError('CONFLICT', 'No.', { details: { reason: 'no such reason' } })`,
    'src/right.ts': `${head}new HoldfastError('CONFLICT', 'No.', { details: { reason: 'version' } })`,
    'src/other.ts': `${head}new HoldfastError('DAMAGED', 'No.', { details: { reason: 'version' } })`,
  })
  const mistakes = (path: string): readonly ts.Diagnostic[] => program.getSemanticDiagnostics(program.getSourceFile(join(ROOT, path)))
  expect(mistakes('src/wrong.ts').map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual([
    expect.stringContaining('"no such reason"'),
  ])
  expect(mistakes('src/right.ts')).toEqual([])
  expect(thrownReasons(program, known)).toContainEqual({ code: 'DAMAGED', reason: 'version', where: 'src/other.ts:2' })
})

test('docs/errors.md has the tables of src/errors.ts', () => {
  const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8')
  for (const table of [codeTable(), reasonTable()]) expect(page, `docs/errors.md must contain this table:\n\n${table}\n`).toContain(table)
})

function codeTable(): string {
  const rows = Object.entries(CODES).map(
    ([code, { status, exitCode, retryable }]) => `| \`${code}\` | ${status} | ${exitCode} | ${retryable ? 'yes' : 'no'} |`,
  )
  return ['| code | HTTP status | exit code | retryable |', '|---|---|---|---|', ...rows].join('\n')
}

function reasonTable(): string {
  const rows = Object.entries(REASONS).map(([reason, facts]) => {
    const statuses = 'status' in facts ? [facts.status] : facts.codes.map((code) => CODES[code].status)
    return `| \`${reason}\` | ${facts.codes.map((code) => `\`${code}\``).join(', ')} | ${statuses.join(', ')} | ${facts.retry} | ${facts.meaning} |`
  })
  return ['| reason | code | HTTP status | retry | meaning |', '|---|---|---|---|---|', ...rows].join('\n')
}
