/**
 * Every type that a public signature names can be imported by those who use it: from the same entry of the package, or from
 * `holdfast`, `holdfast/engine` or `holdfast/client`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const ENTRIES = Object.values((JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: object }).exports)
  .filter((entry): entry is { types: string } => typeof entry === 'object')
  .map(({ types }) => join(ROOT, types.replace(/^\.\/dist\//, 'src/').replace(/\.d\.ts$/, '.ts')))
/** Names are imported from these, too. */
const SHARED = ['src/index.ts', 'src/engine/index.ts', 'src/client/index.ts'].map((file) => join(ROOT, file))

const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile).config, ts.sys, ROOT)
const program = ts.createProgram(ENTRIES, options)
const checker = program.getTypeChecker()

test('every type in a public signature is exported', () => {
  const shared = SHARED.flatMap(exportsOf)
  const missing = ENTRIES.flatMap((entry) => {
    const exported = exportsOf(entry)
    const known = new Set([...exported, ...shared])
    return [...namedFrom(exported)]
      .filter(([symbol]) => !known.has(symbol))
      .map(([{ name }, from]) => `${entry.slice(ROOT.length)}: ${from} names ${name}`)
  })
  expect(ENTRIES.length).toBeGreaterThan(5)
  expect(missing).toEqual([])
})

function exportsOf(file: string): ts.Symbol[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file) as ts.SourceFile)
  return checker.getExportsOfModule(module as ts.Symbol).map(resolved)
}

function resolved(symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
}

/** Every type of this package that signatures name, directly or through other types, with what led to it. */
function namedFrom(exported: readonly ts.Symbol[]): Map<ts.Symbol, string> {
  const found = new Map<ts.Symbol, string>()
  const visited = new Set<ts.Node>()
  const visit = (node: ts.Node, from: string): void => {
    if (isHidden(node)) return
    if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) {
      const at = checker.getSymbolAtLocation(ts.isTypeReferenceNode(node) ? node.typeName : node.expression)
      if (at !== undefined) name(resolved(at), from)
    }
    ts.forEachChild(node, (child) => visit(child, from))
  }
  const declare = (symbol: ts.Symbol, from: string): void => {
    for (const declaration of symbol.declarations ?? []) {
      if (visited.has(declaration)) continue
      visited.add(declaration)
      visit(declaration, from)
    }
  }
  const name = (symbol: ts.Symbol, from: string): void => {
    if ((symbol.flags & NAMED) === 0 || !isOurs(symbol)) return
    if (!found.has(symbol)) found.set(symbol, from)
    declare(symbol, `${from} > ${symbol.name}`)
  }
  for (const symbol of exported) declare(symbol, symbol.name)
  return found
}

const NAMED = ts.SymbolFlags.Interface | ts.SymbolFlags.Class | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Enum

function isOurs({ declarations = [] }: ts.Symbol): boolean {
  return declarations.some((declaration) => declaration.getSourceFile().fileName.startsWith(join(ROOT, 'src')))
}

/** What is not in a declaration file: bodies, initial values, private members, and members for this package alone. A private constructor is there, without its parameters. */
function isHidden(node: ts.Node): boolean {
  if (ts.isBlock(node) || ts.isExpression(node)) return !ts.isExpressionWithTypeArguments(node)
  if (!ts.isClassElement(node) && !ts.isTypeElement(node)) return false
  const before = node.getSourceFile().text.slice(node.getFullStart(), node.getStart())
  const isPrivate = (ts.getCombinedModifierFlags(node as ts.Declaration) & ts.ModifierFlags.Private) !== 0
  return before.includes('@internal') || isPrivate || (node.name !== undefined && ts.isPrivateIdentifier(node.name))
}
