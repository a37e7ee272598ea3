/** docs/decisions/0020: a method stays inside one store, so store/ exports no function but the one that opens a store. */
import { join, relative } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const ENTRY = join(ROOT, 'src/index.ts')

const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile).config, ts.sys, ROOT)
const program = ts.createProgram([ENTRY], options)
const checker = program.getTypeChecker()
const functions = exportedFunctions()

test('a function of the library crosses the border of a store, and is no part of the module of stores', () => {
  expect(functions.length).toBeGreaterThan(8)
  const ofStores = functions.filter((one) => fileOf(one).startsWith('src/store/')).map(({ name }) => name?.text)
  expect(ofStores).toEqual(['openStore'])
})

test('a function that takes a store takes it first', () => {
  const isStore = ({ type }: ts.ParameterDeclaration): boolean => type?.getText() === 'Store'
  const taking = functions.filter(({ parameters }) => parameters.some(isStore))
  expect(taking.length).toBeGreaterThan(3)
  expect(taking.filter(({ parameters: [first] }) => first === undefined || !isStore(first)).map(({ name }) => name?.text)).toEqual([])
})

function exportedFunctions(): ts.FunctionDeclaration[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(ENTRY) as ts.SourceFile) as ts.Symbol
  return checker.getExportsOfModule(module).flatMap((exported) => {
    const symbol = (exported.flags & ts.SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported)
    return (symbol.declarations ?? []).filter(ts.isFunctionDeclaration)
  })
}

function fileOf(node: ts.Node): string {
  return relative(ROOT, node.getSourceFile().fileName)
}
