import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../../src/errors.ts'
import { IMPORTERS } from '../../src/formats/importers.ts'
import { itemsIn, type Source } from '../../src/formats/item.ts'
import { FIXTURES, type Fixture, sourceOf } from '../transfer/fixtures.ts'
import { allTooSlow, type EntryPoint } from './entry-points.ts'
import { DIFFERENT_WORDS } from './texts.ts'

const LENGTHS = [3000]
/** How long the text is for which a line of a file is there once more. */
const LINE_LENGTH = 100

/** Reads all items, as an import does. A file that is refused was read, too. */
async function readAll(format: string, source: Source): Promise<void> {
  const importer = IMPORTERS.find(({ name }) => name === format)
  if (importer === undefined) throw new Error(`There is no importer "${format}".`)
  try {
    for await (const _ of itemsIn(importer, source));
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
  }
}

type Path = readonly (string | number)[]

/** The path of every text in a value. */
function textsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) => textsIn(item, [...path, Array.isArray(value) ? Number(name) : name]))
}

function withText(value: unknown, [name, ...rest]: Path, text: string): unknown {
  if (name === undefined) return text
  if (Array.isArray(value)) return value.map((item, i) => (i === name ? withText(item, rest, text) : item))
  return { ...(value as object), [name]: withText((value as Readonly<Record<string, unknown>>)[name], rest, text) }
}

/** A file as the JSON values in it: its lines, or the one document. Undefined if it is neither. */
function valuesIn(file: string, isDocument: boolean): unknown[] | undefined {
  try {
    return isDocument
      ? [JSON.parse(file)]
      : file
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
  } catch {
    return undefined
  }
}

/** Each field of the fixture's files once, however many lines have it; each file as a whole; and more lines. */
function* entryPointsOf({ format, name, files, document = false }: Fixture): Generator<EntryPoint> {
  const reads = (where: string, change: (text: string) => Readonly<Record<string, string>>): EntryPoint => ({
    name: `${format}, ${where}`,
    lengths: LENGTHS,
    prepare: (text) => {
      const source = sourceOf({ name, files: { ...files, ...change(text) } })
      return () => readAll(format, source)
    },
  })
  for (const [path, file] of Object.entries(files)) {
    yield reads(`${path} as a whole`, (text) => ({ [path]: text }))
    yield reads(`${path}, text after its end`, (text) => ({ [path]: file + text }))
    const values = valuesIn(file, document || path.endsWith('.json'))
    if (values === undefined) continue
    const write = (changed: readonly unknown[]): Readonly<Record<string, string>> => ({
      [path]: changed.map((value) => JSON.stringify(value)).join('\n'),
    })
    const known = new Set<string>()
    for (const [line, value] of values.entries()) {
      for (const where of textsIn(value)) {
        const field = where.map((word) => (typeof word === 'number' ? '[]' : `.${word}`)).join('')
        if (known.has(field)) continue
        known.add(field)
        yield reads(`${path}${field}`, (text) => write(values.with(line, withText(value, where, text))))
      }
    }
    if (values.length > 1) {
      const more = reads(`${path} with its lines many times`, (text) => {
        const rows = Array.from({ length: Math.ceil(text.length / LINE_LENGTH) }, (_, i) => renumbered(values, i))
        return write(rows.flat())
      })
      yield { ...more, families: DIFFERENT_WORDS }
    }
  }
}

/** The same lines with other ids, but for the first, which describes the file. */
function renumbered([first, ...rest]: readonly unknown[], round: number): unknown[] {
  if (round === 0) return [first, ...rest]
  const ids = new Set(
    rest.flatMap((value) =>
      Object.entries(value as object)
        .filter(([name]) => /^(?:id|uuid)$/.test(name))
        .map(([, id]) => id),
    ),
  )
  return rest.map((value) => JSON.parse(JSON.stringify(value, (_, item) => (ids.has(item) ? `${item}-${round}` : item))))
}

test('every importer has a file to begin with', () => {
  expect([...new Set(FIXTURES.map(({ format }) => format))].sort()).toEqual(IMPORTERS.map(({ name }) => name).sort())
})

describe.each(FIXTURES.map((fixture) => [fixture.name, fixture] as const))('%s', (_, fixture) => {
  test('is read in time in proportion to its texts', async () => {
    expect(await allTooSlow(entryPointsOf(fixture))).toEqual([])
  })
})
