/** Finds the regular expressions of the sources. */
import ts from 'typescript'
import { lineOf, parse, type SourceFile, walkTree } from './sources.ts'

export interface Pattern {
  readonly place: string
  /** As it is written in the source: between slashes with its flags, or as an argument of RegExp. */
  readonly text: string
  /** Undefined if it is put together at runtime. */
  readonly source?: string
  readonly flags?: string
}

export function patternsIn(file: SourceFile): Pattern[] {
  const tree = parse(file)
  const found: Pattern[] = []
  walkTree(tree, (node) => {
    const place = `${file.path}:${lineOf(tree, node)}`
    if (node.kind === ts.SyntaxKind.RegularExpressionLiteral) {
      const text = node.getText(tree)
      const end = text.lastIndexOf('/')
      found.push({ place, text, source: text.slice(1, end), flags: text.slice(end + 1) })
    } else if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(tree) === 'RegExp') {
      found.push({ place, text: node.getText(tree) })
    }
  })
  return found
}
