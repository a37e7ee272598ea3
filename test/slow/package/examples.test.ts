/** Every function, class and constant of `holdfast` has an example in its comment, and each example compiles as it stands. */
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const ENTRY = join(ROOT, 'src/index.ts')
const EXAMPLES = join(ROOT, 'src/examples.ts')

/** What examples use without making it first. */
const GIVEN = ['session: Session', 'store: Store', 'other: Store', 'bytes: Uint8Array']

const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile).config, ts.sys, ROOT)
const examples = examplesOf(ENTRY)

test('everything that can be imported has an example', () => {
  expect(examples.length).toBeGreaterThan(20)
  expect(examples.filter(({ code }) => code === undefined).map(({ name }) => name)).toEqual([])
})

test('every example compiles', () => {
  const imported = `import { ${examples.map(({ name, isType }) => (isType ? `type ${name}` : name)).join(', ')} } from './index.ts'`
  const functions = examples.map(({ name, code }) => {
    const given = GIVEN.filter((one) => !new RegExp(`\\b(?:const|using) ${one.split(':')[0]}\\b`).test(code ?? ''))
    return `export async function ${name}Example(${given.join(', ')}) {\n${code}\n}`
  })
  const text = [imported, ...functions].join('\n')
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (file, ...rest) =>
    file === EXAMPLES ? ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true) : getSourceFile.call(host, file, ...rest)
  const loose = { ...options, noUnusedLocals: false, noUnusedParameters: false, lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'] }
  const program = ts.createProgram([EXAMPLES], loose, host)
  const complaints = ts.getPreEmitDiagnostics(program, program.getSourceFile(EXAMPLES))
  expect(complaints.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
})

function examplesOf(entry: string): { readonly name: string; readonly isType: boolean; readonly code: string | undefined }[] {
  const program = ts.createProgram([entry], options)
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry) as ts.SourceFile) as ts.Symbol
  return checker.getExportsOfModule(module).flatMap((exported) => {
    const symbol = (exported.flags & ts.SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported)
    const [declaration] = symbol.declarations ?? []
    if (declaration === undefined || !isDocumented(declaration)) return []
    const [example] = ts.getJSDocTags(declaration).filter(({ tagName }) => tagName.text === 'example')
    const isType =
      exported.declarations?.some((one) => ts.isExportSpecifier(one) && (one.isTypeOnly || one.parent.parent.isTypeOnly)) === true
    return [{ name: exported.name, isType, code: ts.getTextOfJSDocComment(example?.comment) }]
  })
}

function isDocumented(node: ts.Node): boolean {
  return ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isVariableDeclaration(node)
}
