/** The house rules that neither the compiler nor the linter knows. */
import ts from 'typescript'
import { lineOf, parse, type SourceFile, walkTree } from './sources.ts'

const MAX_LINES = 450
const EMPTY_WORDS = /^(?:utils?|helpers?|managers?|common|misc)$/
const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const TEST_WORDS = new Set(['test', 'it', 'describe', 'suite'])

/** What is wrong, one sentence for each violation. Takes files of src/, test/, bench/, scripts/ and web/. */
export function checkStyle(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => [...checkName(file.path), ...checkText(file), ...checkTree(file)])
}

function checkName(path: string): string[] {
  // The ending and the kind of a test (`.test`, `.property.test`) are not part of the name.
  const names = path.split('/').map((segment) => segment.split('.')[0] ?? '')
  const wrong: string[] = []
  if (!names.every((name) => KEBAB.test(name))) wrong.push(`${path} is not in kebab-case`)
  const empty = names.flatMap((name) => name.split('-')).find((word) => EMPTY_WORDS.test(word))
  if (empty !== undefined) wrong.push(`${path}: "${empty}" says nothing about what is inside`)
  return wrong
}

function checkText({ path, text }: SourceFile): string[] {
  const wrong: string[] = []
  const lines = text.replace(/\n$/, '').split('\n')
  if (path.startsWith('src/') && lines.length > MAX_LINES)
    wrong.push(`${path} has ${lines.length} lines, over ${MAX_LINES}: what two things live there?`)
  // This folder has to name what it looks for.
  if (path.startsWith('test/tidy/')) return wrong
  lines.forEach((line, index) => {
    const word = /\b(?:TODO|FIXME)\b/.exec(line)
    if (word !== null) wrong.push(`${path}:${index + 1} leaves a ${word[0]}`)
    if (isTest(path) && line.includes('Math.random'))
      wrong.push(`${path}:${index + 1} draws from Math.random: draw from the SEED of test/long.ts`)
  })
  return wrong
}

/** What a test draws has to come from the seed of its run. `main.ts` of the torture picks a seed, and prints it. */
function isTest(path: string): boolean {
  return (path.startsWith('test/') || path.endsWith('.test.ts')) && path !== 'test/torture/main.ts'
}

/** The words that a wrong export or test cannot do without. Most files have none of them, and need not be parsed. */
const SUSPICIOUS = /\.\s*(?:only|skip|skipIf|runIf|todo|fails)\b|\b(?:only|skip|todo)\s*:|\bexport\s*\*|\bdefault\b/

function checkTree(file: SourceFile): string[] {
  if (!SUSPICIOUS.test(file.text)) return []
  const source = parse(file)
  const wrong: string[] = []
  walkTree(source, (node) => {
    const what = (file.path.startsWith('src/') ? wrongExport(node) : undefined) ?? wrongTest(node, source)
    if (what !== undefined) wrong.push(`${file.path}:${lineOf(source, node)} ${what}`)
  })
  return wrong
}

function wrongExport(node: ts.Node): string | undefined {
  if (ts.isExportDeclaration(node) && (node.exportClause === undefined || ts.isNamespaceExport(node.exportClause))) {
    return 'exports *: name what is exported'
  }
  const isDefault =
    ts.isExportAssignment(node) ||
    (ts.isExportSpecifier(node) && node.name.text === 'default') ||
    (ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword))
  return isDefault ? 'has a default export' : undefined
}

/**
 * A test that is not run says why. `test.skip`, `test.todo` and the like need a comment `// skip: reason` above the statement;
 * `skipIf(!strace.available)` has told its reason through test/platform.ts; `context.skip('reason')` gives it itself.
 */
function wrongTest(node: ts.Node, source: ts.SourceFile): string | undefined {
  if (ts.isPropertyAssignment(node) && ['only', 'skip', 'todo'].includes(node.name.getText()) && isTestOption(node)) {
    if (node.name.getText() === 'only') return 'uses only: the other tests would not run'
    return hasReason(node, source) ? undefined : `uses ${node.name.getText()} without a reason`
  }
  if (!ts.isPropertyAccessExpression(node)) return undefined
  const name = node.name.text
  if (TEST_WORDS.has(rootOf(node))) {
    if (name === 'only') return 'uses only: the other tests would not run'
    const skips = ['skip', 'skipIf', 'runIf', 'todo', 'fails'].includes(name)
    return !skips || hasReason(node, source) ? undefined : `uses ${name} without a reason`
  }
  const bare = name === 'skip' && ts.isCallExpression(node.parent) && node.parent.expression === node && node.parent.arguments.length === 0
  return bare ? 'uses skip without a reason' : undefined
}

/** Whether the property stands in `test('…', { here }, …)`. */
function isTestOption(node: ts.PropertyAssignment): boolean {
  const call = node.parent.parent
  return ts.isCallExpression(call) && TEST_WORDS.has(rootOf(call.expression))
}

/** `test` of `test.concurrent.skipIf(x).each(y)`. */
function rootOf(node: ts.Node): string {
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) return rootOf(node.expression)
  return ts.isIdentifier(node) ? node.text : ''
}

function hasReason(node: ts.Node, source: ts.SourceFile): boolean {
  const call = node.parent
  if (ts.isCallExpression(call) && call.arguments.some((argument) => /\.available\b/.test(argument.getText(source)))) return true
  const statement = ts.findAncestor(node, ts.isStatement)
  const comments = ts.getLeadingCommentRanges(source.text, statement?.pos ?? 0) ?? []
  return comments.some(({ pos, end }) => /\bskip: \S/.test(source.text.slice(pos, end)))
}
