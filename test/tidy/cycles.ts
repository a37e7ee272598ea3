/** Files that import one another in a circle, types and dynamic imports included: none of them can be understood without the others. */
import { dirname, join } from 'node:path/posix'
import { findImports } from './imports.ts'
import { parse, type SourceFile } from './sources.ts'

/** The cycles among some files, each with all its files, the largest first. */
export function findCycles(files: readonly SourceFile[]): string[][] {
  const known = new Set(files.map(({ path }) => path))
  const imports = new Map(files.map((file) => [file.path, importsOf(file).filter((path) => known.has(path))]))
  const order = new Map<string, { index: number; lowest: number; open: boolean }>()
  const stack: string[] = []
  const cycles: string[][] = []
  // Tarjan: files from which one can come back to themselves stay on the stack together.
  const visit = (path: string): { index: number; lowest: number; open: boolean } => {
    const own = { index: order.size, lowest: order.size, open: true }
    order.set(path, own)
    stack.push(path)
    for (const target of imports.get(path) ?? []) {
      const other = order.get(target)
      if (other === undefined) own.lowest = Math.min(own.lowest, visit(target).lowest)
      else if (other.open) own.lowest = Math.min(own.lowest, other.index)
    }
    if (own.lowest === own.index) {
      const together = stack.splice(stack.indexOf(path))
      for (const one of together) Object.assign(order.get(one) as object, { open: false })
      if (together.length > 1) cycles.push(together.toSorted())
    }
    return own
  }
  for (const path of known) if (!order.has(path)) visit(path)
  return cycles.toSorted((a, b) => b.length - a.length)
}

function importsOf(file: SourceFile): string[] {
  const specifiers = findImports(parse(file)).flatMap(({ specifier }) => (specifier?.startsWith('.') === true ? [specifier] : []))
  return specifiers.map((specifier) => join(dirname(file.path), specifier))
}
