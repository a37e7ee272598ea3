/**
 * Who may import whom. The modules of src/ are in one order, and each imports only those before it (`MODULES`). Type imports and dynamic imports
 * count, too.
 *
 * Further: an engine never imports another one; only the cli, src/index.ts and src/store/open-store.ts pick an engine, and
 * src/transfer/restore-session.ts, since a backup is files, src/transfer/import/journal-files.ts, which reads files as a store in memory, and the thread of the catalog; web/ sees the
 * client only; the pure modules reach no disk, network, process, clock or chance; node:fs is used by src/engines/files/node-disk.ts, the file that
 * reads the limit of descriptors, one file for the catalog, whose files are SQLite's, one for the files of the page, one for files to import, and the cli. Tests that lie beside the code obey this order but may pick an engine and touch the disk.
 */
import { dirname, join } from 'node:path/posix'
import ts from 'typescript'
import { lineOf, parse, type SourceFile, walkTree } from './sources.ts'

/** Each module imports only those before it. */
const MODULES =
  'errors record session message window formats engine engines encryption journal verify catalog store transfer doctor commit wire client adapters server cli index'
const RANK = new Map(MODULES.split(' ').map((name, rank) => [name, rank] as const))

const PURE = new Set(['record', 'session', 'message', 'window', 'formats', 'wire'])
const IMPURE_MODULES = new Set('child_process cluster dgram dns fs http http2 https net os process timers tls worker_threads'.split(' '))
/** Clock and chance, as they are written. `new Date()` and `process` are looked for separately. */
const IMPURE_CALLS =
  /^(?:globalThis\.)?(?:Date\.now|Math\.random|performance\.now|Date|(?:crypto\.)?(?:random\w+|getRandomValues)|set(?:Timeout|Interval|Immediate))$/

const MAY_USE_FS = [
  'src/engine/descriptors.ts',
  'src/engines/files/node-disk.ts',
  'src/catalog/sqlite/file.ts',
  'src/server/web-files.ts',
  'src/transfer/sources.ts',
  'src/cli/',
]
const MAY_PICK_ENGINE = [
  'src/cli/',
  'src/index.ts',
  'src/store/open-store.ts',
  'src/transfer/restore-session.ts',
  'src/transfer/import/journal-files.ts',
  'src/catalog/thread.ts',
]

interface Import {
  readonly line: number
  /** Undefined if it is computed. */
  readonly specifier: string | undefined
}

/** What is wrong, one sentence for each violation. Takes files of src/ and web/. */
export function checkImports(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const source = parse(file)
    const wrong = file.path.startsWith('src/') ? wrongInSrc : wrongInWeb
    const ofImports = findImports(source).flatMap((one) => wrong(file.path, one).map((what) => `${file.path}:${one.line} ${what}`))
    return [...ofImports, ...findImpurities(file.path, source)]
  })
}

function wrongInSrc(path: string, { specifier }: Import): string[] {
  if (specifier === undefined) return ['imports a computed path, which no check can follow']
  if (/^holdfast(?:\/|$)/.test(specifier)) return [`imports ${specifier}: inside the package, paths are relative`]
  return specifier.startsWith('.') ? wrongInside(path, join(dirname(path), specifier)) : wrongOutside(path, specifier)
}

function wrongInside(path: string, target: string): string[] {
  // Nor is a test, wherever it lies.
  if (!target.startsWith('src/'))
    return isTest(path) && target.startsWith('test/') ? [] : [`imports ${target}, which is not part of the package`]
  const [from, to] = [moduleOf(path), moduleOf(target)]
  const [fromRank, toRank] = [RANK.get(from), RANK.get(to)]
  if (fromRank === undefined) return [`is in the module "${from}", which the order does not name`]
  if (toRank === undefined) return [`imports ${target}: the order does not name the module "${to}"`]

  const wrong: string[] = []
  if (fromRank < toRank) wrong.push(`imports ${target}: ${from} is below ${to}`)
  const [own, other] = [engineOf(path), engineOf(target)]
  if (other === undefined || own === other) return wrong
  if (own !== undefined) wrong.push(`imports ${target}: the engine ${own} must not know the engine ${other}`)
  else if (!isTest(path) && !isAmong(path, MAY_PICK_ENGINE))
    wrong.push(`imports ${target}: only ${MAY_PICK_ENGINE.join(', ')} pick an engine`)
  return wrong
}

function wrongOutside(path: string, specifier: string): string[] {
  if (isTest(path)) return []
  const module = nodeModuleOf(specifier)
  const wrong: string[] = []
  if (PURE.has(moduleOf(path)) && IMPURE_MODULES.has(module)) wrong.push(`imports ${specifier}: ${moduleOf(path)} is pure`)
  if (module === 'fs' && !isAmong(path, MAY_USE_FS)) wrong.push(`imports ${specifier}: only ${MAY_USE_FS.join(', ')} touch the disk`)
  return wrong
}

function wrongInWeb(path: string, { specifier }: Import): string[] {
  if (specifier === undefined) return ['imports a computed path, which no check can follow']
  const target = specifier.startsWith('.') ? join(dirname(path), specifier) : specifier
  const allowed = !/^(?:src|holdfast)(?:\/|$)/.test(target) || /^(?:src|holdfast)\/client(?:[/.]|$)/.test(target)
  return allowed ? [] : [`imports ${target}: web sees the client only`]
}

export function findImports(source: ts.SourceFile): Import[] {
  const found: Import[] = []
  walkTree(source, (node) => {
    const specifier = specifierOf(node)
    if (specifier === undefined) return
    found.push({ line: lineOf(source, node), specifier: ts.isStringLiteralLike(specifier) ? specifier.text : undefined })
  })
  return found
}

/** The node that names the module, if this one imports: import, export from, import(), require(), import type, import =. */
function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument
  if (ts.isExternalModuleReference(node)) return node.expression
  if (!ts.isCallExpression(node)) return undefined
  const { expression } = node
  const imports = expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(expression) && expression.text === 'require')
  return imports ? node.arguments[0] : undefined
}

function findImpurities(path: string, source: ts.SourceFile): string[] {
  const module = moduleOf(path)
  if (!path.startsWith('src/') || !PURE.has(module) || isTest(path)) return []
  const found: string[] = []
  walkTree(source, (node) => {
    const use = impureUse(node)
    if (use !== undefined) found.push(`${path}:${lineOf(source, node)} uses ${use}: ${module} is pure`)
  })
  return found
}

function impureUse(node: ts.Node): string | undefined {
  if (ts.isNewExpression(node) && node.expression.getText() === 'Date' && !node.arguments?.length) return 'new Date()'
  if (ts.isPropertyAccessExpression(node) && /^(?:globalThis\.)?process$/.test(node.expression.getText())) return node.getText()
  if (!ts.isCallExpression(node)) return undefined
  // The text of a chain of calls is as long as the chain, and no name of ours has more than two dots.
  if (!ts.isIdentifier(node.expression) && !ts.isPropertyAccessExpression(node.expression)) return undefined
  const callee = node.expression.getText()
  return IMPURE_CALLS.test(callee) ? `${callee}()` : undefined
}

/** The folder of src/ that a path lies in, or its name if it lies in src/ itself. */
function moduleOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/(?:\.test)?\.ts$/, '')
}

function engineOf(path: string): string | undefined {
  return /^src\/engines\/([^/]+)\//.exec(path)?.[1]
}

function nodeModuleOf(specifier: string): string {
  return specifier.replace(/^node:/, '').split('/')[0] ?? ''
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}

/** Whether the path is one of the files, or lies in one of the folders, which end with a slash. */
function isAmong(path: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place))
}
