/** Reads the repository for the checks of this folder. The checks themselves take values, so that violations can be planted. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** A file of the repository; the path is relative to its root, with forward slashes. */
export interface SourceFile {
  readonly path: string
  readonly text: string
}

function findRoot(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : findRoot(dirname(directory))
}

export const ROOT = findRoot(dirname(fileURLToPath(import.meta.url)))

/** Every file at or below `start` whose name ends in one of `endings`; none if there is no such place yet. */
export function readSources(start: string, endings: readonly string[]): SourceFile[] {
  const paths = existsSync(join(ROOT, start)) ? walk(start) : []
  return paths
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

function walk(start: string): string[] {
  if (start.endsWith('node_modules') || start.endsWith('dist')) return []
  const entries = readdirSync(join(ROOT, start), { withFileTypes: true })
  return entries.flatMap((entry) => {
    const path = `${start}/${entry.name}`
    if (entry.isDirectory()) return walk(path)
    return entry.isFile() ? [path] : []
  })
}

/** Parsed once for all checks. */
const trees = new Map<string, ts.SourceFile>()

export function parse({ path, text }: SourceFile): ts.SourceFile {
  const known = trees.get(path)
  if (known?.text === text) return known
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  trees.set(path, tree)
  return tree
}

/** Calls `visit` for every node below `node`, parents first. */
export function walkTree(node: ts.Node, visit: (node: ts.Node) => void): void {
  ts.forEachChild(node, (child) => {
    visit(child)
    walkTree(child, visit)
  })
}

export function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
}

/** The documents of the repository, those that exist. */
export function readDocuments(): SourceFile[] {
  const names = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'].filter((name) =>
    existsSync(join(ROOT, name)),
  )
  return [...names.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })), ...readSources('docs', ['.md'])]
}
