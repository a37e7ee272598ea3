/**
 * Everything of `holdfast` and `holdfast/client` that can be called has a comment that says what it does, what it returns, what it throws, and an
 * example that compiles. A method of a class may have its comment from the interface that the class implements.
 */
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const ENTRIES = ['src/index.ts', 'src/client/index.ts'].map((path) => join(ROOT, path))
const EXAMPLES = join(ROOT, 'src/examples.ts')

/** What examples use without making it first. */
const GIVEN = ['session: Session', 'store: Store', 'other: Store', 'remote: RemoteStore', 'bytes: Uint8Array']

/** What throws nothing: it only computes, or reports what goes wrong in another way. */
const NEVER_THROWS = [
  'Worker.start',
  'Worker.wake',
  'Store.keepCatalog',
  'connect',
  'damageText',
  'distinctPlaces',
  'newMasterKey',
  'viewOf',
]

interface Documented {
  readonly name: string
  readonly isCallable: boolean
  readonly isVoid: boolean
  readonly text: string
  readonly tags: ReadonlyMap<string, string>
}

const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile).config, ts.sys, ROOT)
const program = ts.createProgram(ENTRIES, options)
const checker = program.getTypeChecker()
const exported = ENTRIES.flatMap((entry) => exportsOf(entry).map((symbol) => ({ entry, symbol })))
const documented = exported.flatMap(({ symbol }) => [...documentedOf(symbol), ...methodsOf(symbol)])

function lacking(isLacking: (one: Documented) => boolean): string[] {
  return [...new Set(documented.filter(isLacking).map(({ name }) => name))]
}

test('everything that can be imported or called says what it does', () => {
  expect(documented.length).toBeGreaterThan(150)
  expect(lacking(({ text }) => text.trim() === '')).toEqual([])
})

test('everything that can be imported or called has an example', () => {
  expect(lacking(({ tags }) => !tags.has('example'))).toEqual([])
})

test('everything that can be called says what it throws', () => {
  expect(lacking(({ name, isCallable, tags }) => isCallable && !tags.has('throws') && !NEVER_THROWS.includes(name))).toEqual([])
  const throwing = documented.filter(({ tags }) => tags.has('throws')).map(({ name }) => name)
  expect(NEVER_THROWS.filter((name) => throwing.includes(name))).toEqual([])
})

test('everything that can be called says what it returns', () => {
  expect(lacking(({ isCallable, isVoid, tags }) => isCallable && !isVoid && !tags.has('returns'))).toEqual([])
})

test('every example compiles', () => {
  const inLibrary = new Set(exportsOf(ENTRIES[0] as string).map(({ name }) => name))
  const imports = ENTRIES.map((entry) => {
    const names = exportsOf(entry).map((symbol) => (isOnlyType(symbol) ? `type ${symbol.name}` : symbol.name))
    // Both entries have the error and what it names.
    const own = entry === ENTRIES[0] ? names : names.filter((name) => !inLibrary.has(name.replace('type ', '')))
    return `import { ${own.join(', ')} } from '${entry.replace(join(ROOT, 'src'), '.')}'`
  })
  const functions = documented.map(({ tags }, index) => {
    const code = tags.get('example') ?? ''
    const given = GIVEN.filter((one) => !new RegExp(`\\b(?:const|using) ${one.split(':')[0]}\\b`).test(code))
    return `export async function example${index}(${given.join(', ')}) {\n${code}\n}`
  })
  const text = [...imports, ...functions].join('\n')
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (file, ...rest) =>
    file === EXAMPLES ? ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true) : getSourceFile.call(host, file, ...rest)
  const loose = { ...options, noUnusedLocals: false, noUnusedParameters: false, lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'] }
  const examples = ts.createProgram([EXAMPLES], loose, host)
  const complaints = ts.getPreEmitDiagnostics(examples, examples.getSourceFile(EXAMPLES))
  expect(complaints.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
})

function exportsOf(entry: string): ts.Symbol[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry) as ts.SourceFile) as ts.Symbol
  return checker.getExportsOfModule(module)
}

function resolved(symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
}

function isOnlyType(symbol: ts.Symbol): boolean {
  return symbol.declarations?.some((one) => ts.isExportSpecifier(one) && (one.isTypeOnly || one.parent.parent.isTypeOnly)) === true
}

/** Functions, classes and constants; not types. */
function documentedOf(symbol: ts.Symbol): Documented[] {
  const [declaration] = resolved(symbol).declarations ?? []
  const isValue =
    declaration !== undefined && [ts.isFunctionDeclaration, ts.isClassDeclaration, ts.isVariableDeclaration].some((is) => is(declaration))
  return isValue ? [describe(symbol.name, resolved(symbol), declaration)] : []
}

/** The public methods of a class, also where only its type is exported. */
function methodsOf(symbol: ts.Symbol): Documented[] {
  const target = resolved(symbol)
  if ((target.flags & ts.SymbolFlags.Class) === 0) return []
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(target)).flatMap((member) => {
    const declaration = member.declarations?.find(ts.isMethodDeclaration)
    if (declaration === undefined || !declaration.getSourceFile().fileName.startsWith(join(ROOT, 'src'))) return []
    const isNamed = ts.isIdentifier(declaration.name)
    const isInternal = member.getJsDocTags(checker).some(({ name }) => name === 'internal')
    return isNamed && !isInternal ? [describe(`${symbol.name}.${member.name}`, member, declaration)] : []
  })
}

function describe(name: string, symbol: ts.Symbol, declaration: ts.Declaration): Documented {
  const tags = symbol.getJsDocTags(checker).map(({ name: tag, text }) => [tag, ts.displayPartsToString(text)] as const)
  const isCallable = ts.isFunctionLike(declaration)
  const returned = isCallable
    ? checker.typeToString(checker.getTypeAtLocation(declaration).getCallSignatures()[0]?.getReturnType() as ts.Type)
    : ''
  return {
    name,
    isCallable,
    isVoid: returned === 'void' || returned === 'Promise<void>',
    text: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
    tags: new Map(tags.reverse()),
  }
}
