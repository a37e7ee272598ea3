/**
 * Which reasons the sources throw, with which codes. It asks the type checker, because a reason may be a parameter, a constant, or an entry of
 * a table.
 */
import { join } from 'node:path'
import ts from 'typescript'
import { lineOf, parse, ROOT, type SourceFile, walkTree } from './sources.ts'

/** Functions that take details and throw with one code. */
const WRAPPERS: Readonly<Record<string, string>> = { conflict: 'CONFLICT', wrongUsage: 'INVALID_ARGUMENT' }

const TAKES_DETAILS = /\b(?:ErrorDetails|HoldfastErrorOptions)\b/

export interface ThrownReason {
  readonly code: string
  readonly reason: string
  /** File and line. */
  readonly where: string
}

/** Every pair of code and reason that the files throw. `known` is the number of reasons that exist: an error that is passed on has all of them. */
export function thrownReasons(program: ts.Program, known: number): ThrownReason[] {
  const checker = program.getTypeChecker()
  return program.getSourceFiles().flatMap((source) => {
    const path = source.fileName.slice(ROOT.length + 1)
    if (!path.startsWith('src/') || path.endsWith('.test.ts')) return []
    const found: ThrownReason[] = []
    walkTree(source, (node) => {
      const thrown = detailsOf(checker, node)
      if (thrown === undefined) return
      const reasons = literals(thrown.reason)
      if (reasons.length === known) return
      const where = `${path}:${lineOf(source, node)}`
      found.push(...thrown.codes.flatMap((code) => reasons.map((reason) => ({ code, reason, where }))))
    })
    return found
  })
}

interface Details {
  readonly codes: readonly string[]
  readonly reason: ts.Type
}

function detailsOf(checker: ts.TypeChecker, node: ts.Node): Details | undefined {
  if (ts.isNewExpression(node) && node.expression.getText() === 'HoldfastError') {
    const [code, , options] = node.arguments ?? []
    const details = options && propertyOf(checker, checker.getTypeAtLocation(options), 'details', options)
    const reason = options && details && propertyOf(checker, details, 'reason', options)
    return code === undefined || reason === undefined ? undefined : { codes: literals(checker.getTypeAtLocation(code)), reason }
  }
  if (!ts.isCallExpression(node)) return undefined
  const name = node.expression.getText()
  const code = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined
  if (code === undefined) return undefined
  const reasons = node.arguments.map((given) => propertyOf(checker, checker.getTypeAtLocation(given), 'reason', given))
  const reason = reasons.find((one) => one !== undefined)
  return reason === undefined ? undefined : { codes: [code], reason }
}

/** Functions that take details and are not among `WRAPPERS`: the check would miss the reasons of their callers. */
export function unknownWrappers(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const found: string[] = []
    if (!TAKES_DETAILS.test(file.text)) return found
    walkTree(parse(file), (node) => {
      if (!ts.isParameter(node) || !TAKES_DETAILS.test(node.type?.getText() ?? '')) return
      const name = ts.isFunctionDeclaration(node.parent) ? (node.parent.name?.text ?? '') : ''
      const isError = ts.isConstructorDeclaration(node.parent) && file.path === 'src/errors.ts'
      if (!isError && !Object.hasOwn(WRAPPERS, name)) found.push(`${file.path}: ${node.parent.getText().slice(0, 80)}`)
    })
    return found
  })
}

function propertyOf(checker: ts.TypeChecker, type: ts.Type, name: string, at: ts.Node): ts.Type | undefined {
  const property = checker.getNonNullableType(type).getProperty(name)
  return property && checker.getTypeOfSymbolAtLocation(property, at)
}

function literals(type: ts.Type): string[] {
  if (type.isUnion()) return type.types.flatMap(literals)
  return type.isStringLiteral() ? [type.value] : []
}

/** The sources, and any files that are given as text in place of those of the same path. */
export function programOf(paths: readonly string[], texts: Readonly<Record<string, string>> = {}): ts.Program {
  const config = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  // Reasons are types of these files alone: those of packages take most of the time, and add nothing.
  const options = { ...ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT).options, noResolve: true, types: [] }
  const host = ts.createCompilerHost(options, true)
  const given = new Map(Object.entries(texts).map(([path, text]) => [join(ROOT, path), text] as const))
  const { readFile, fileExists } = host
  host.readFile = (path) => given.get(path) ?? readFile(path)
  host.fileExists = (path) => given.has(path) || fileExists(path)
  const { getSourceFile } = host
  host.getSourceFile = (path, language, ...rest) => {
    const text = given.get(path)
    return text === undefined ? getSourceFile(path, language, ...rest) : ts.createSourceFile(path, text, language, true)
  }
  return ts.createProgram(
    [...paths, ...Object.keys(texts)].map((path) => join(ROOT, path)),
    options,
    host,
  )
}
