/** docs/format.md says everything that is in a store, and its examples are true. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { RECORD_TYPES, WRITTEN_TWICE } from '../../src/record/record.ts'
import { useDirectory } from '../store/directory.ts'
import { ROOT, readSources } from '../tidy/sources.ts'
import { DOCUMENT, describedTypes, examples, namesIn, section, words } from './document.ts'
import { readFeed } from './reader/derived.ts'
import { checksumOf, type JournalLine, judge } from './reader/line.ts'
import { journalName, StoreReader } from './reader/store.ts'
import { SCENARIOS } from './scenarios.ts'

const GOLDEN = 'test/golden/stores'
const ENCRYPTED = `${GOLDEN}/format-2-encrypted`

/** Every line of the golden stores, as it is on the disk. */
function goldenLines(): Set<string> {
  const stores = readdirSync(join(ROOT, GOLDEN)).filter((name) => name.startsWith('format-2'))
  const files = stores.flatMap((name) => readSources(`${GOLDEN}/${name}/store`, ['.jsonl', '.json']))
  return new Set(files.flatMap(({ text }) => text.split('\n')))
}

function masterKey(): string {
  return readFileSync(join(ROOT, ENCRYPTED, 'master.key'), 'utf8').trim()
}

describe('the examples', () => {
  test('are lines of the golden stores, byte for byte', () => {
    const golden = goldenLines()
    expect(examples('jsonl').filter((line) => !golden.has(line))).toEqual([])
  })

  test('have the checksum that they say, also those that no golden store holds', () => {
    const lines = [...examples('jsonl'), ...examples('json'), ...examples('jsonl segment').filter((line) => line !== ' ')]
    expect(lines.length).toBeGreaterThan(RECORD_TYPES.length)
    expect(lines.filter((line) => checksumOf(Buffer.from(line)) === undefined)).toEqual([])
  })

  test('show a whole segment', () => {
    const segment = new StoreReader(join(ROOT, GOLDEN, 'format-2/store')).files(journalName('other', 'elsewhere'))
    expect(`${examples('jsonl segment').join('\n')}\n`).toBe(segment[0]?.bytes.toString('utf8'))
    expect(DOCUMENT).toContain(`sessions/${journalName('other', 'elsewhere')}/`)
  })

  test('show an encrypted line that the master key of the page decrypts', () => {
    const [line = ''] = examples('jsonl', section('Encryption'))
    const [, shownKey = ''] = /The master key of that store is `([^`]+)`/.exec(section('Encryption')) ?? []
    expect(shownKey).toBe(masterKey())
    const name = journalName('other', 'elsewhere')
    const key = new StoreReader(join(ROOT, ENCRYPTED, 'store'), shownKey).dataKey(name)
    const shown = JSON.parse(examples('json decrypted').join('\n')) as object
    expect(key.open(JSON.parse(line) as JournalLine, name)).toMatchObject(shown)
  })

  test('show a line of the feed with its checksum', () => {
    const [line = ''] = examples('json feed')
    const [name = ''] = JSON.parse(line) as string[]
    expect(readFeed(Buffer.from(`\n${line}\n`))).toEqual([name])
    expect(line).toContain(crc32(name).toString(16))
  })
})

describe('the types of records', () => {
  test('have a section each, and no other type has one', () => {
    expect(describedTypes().toSorted()).toEqual(RECORD_TYPES.toSorted())
  })

  test.each(RECORD_TYPES)('%s has an example, and the section says how often it is written', (type) => {
    const text = section(`\`${type}\``)
    expect(examples('jsonl', text).map((line) => (JSON.parse(line) as JournalLine).type)).toContain(type)
    expect(/^Written (once|twice)/m.exec(text)?.[1]).toBe(WRITTEN_TWICE.has(type) ? 'twice' : 'once')
  })
})

/** Fields that any line may have. */
const COMMON = ['v', 'id', 'at', 'type', 'parent', 'prev', 'pos', 'crc', 'key', 'digest', 'sealed', 'keys', 'data']
/** What a caller put there is of any shape. */
const CALLERS = ['messages', 'message', 'metadata', 'policies', 'value']

describe('the fields of records', () => {
  const directory = useDirectory()

  /** Every intact line of every journal in a store, decrypted. */
  function linesOf(store: string, key?: string): JournalLine[] {
    const reader = new StoreReader(store, key)
    return reader.names().flatMap((name) =>
      reader.files(name).flatMap(({ bytes }) =>
        bytes
          .toString('utf8')
          .split('\n')
          .flatMap((text) => {
            const judged = judge(Buffer.from(text))
            if (judged.kind !== 'line') return []
            return judged.line.sealed === undefined
              ? [judged.line]
              : [judged.line, reader.dataKey(name).open(judged.line, name) ?? judged.line]
          }),
      ),
    )
  }

  /** Fields of a line that its section does not name, and names inside of them that the page never mentions. */
  function undescribed(line: JournalLine, known: ReadonlySet<string>): string[] {
    const named = namesIn(`\`${line.type}\``)
    const fields = Object.keys(line).filter((field) => !named.has(field) && !COMMON.includes(field))
    const inside = Object.entries(line).flatMap(([field, value]) => (CALLERS.includes(field) ? [] : keysIn(value)))
    return [
      ...fields.map((field) => `${line.type} ${field}`),
      ...inside.filter((name) => !known.has(name)).map((name) => `${line.type}: ${name}`),
    ]
  }

  function keysIn(value: unknown): string[] {
    if (typeof value !== 'object' || value === null) return []
    if (Array.isArray(value)) return value.flatMap(keysIn)
    return Object.entries(value).flatMap(([name, inner]) => [name, ...(CALLERS.includes(name) ? [] : keysIn(inner))])
  }

  function goldenStores(): JournalLine[] {
    return readdirSync(join(ROOT, GOLDEN)).flatMap((name) => {
      const home = join(ROOT, GOLDEN, name)
      const key = readdirSync(home).includes('master.key') ? readFileSync(join(home, 'master.key'), 'utf8').trim() : undefined
      return linesOf(join(home, 'store'), key)
    })
  }

  test('are described, and each that is described is in some store', async () => {
    const lines = goldenStores()
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      // Those write what others write too.
      if (name.includes('carried') || name.includes('the same')) continue
      await scenario(directory(), {})
      lines.push(...linesOf(directory().path))
      await directory().empty()
    }
    const known = words()
    expect([...new Set(lines.flatMap((line) => undescribed(line, known)))]).toEqual([])
    const fields = new Set(lines.flatMap((line) => Object.keys(line).map((field) => `${line.type} ${field}`)))
    const described = RECORD_TYPES.flatMap((type) => [...namesIn(`\`${type}\``)].map((field) => `${type} ${field}`))
    expect(described.filter((field) => !fields.has(field))).toEqual([])
  })
})

test('the fields of the state and of archives are those that checkpoints have', () => {
  const checkpoints = [...goldenLines()].filter((line) => line.includes('"type":"checkpoint"') && !line.includes('"sealed"'))
  const states = checkpoints.map((line) => (JSON.parse(line) as { state: Record<string, unknown> & { archives: object[] } }).state)
  const fields = new Set([...states.flatMap((state) => Object.keys(state)), 'accepted'])
  expect(namesIn('The state')).toEqual(fields)
  const ofArchives = new Set(states.flatMap(({ archives }) => archives.flatMap((archive) => Object.keys(archive))))
  expect(namesIn('Archives')).toEqual(new Set([...ofArchives, 'erased', 'bodyless']))
})

test('the reader uses the document and nothing of the library', () => {
  const sources = readSources('test/format/reader', ['.ts'])
  const imports = sources.flatMap(({ text }) => [...text.matchAll(/from '([^']+)'/g)].map((match) => match[1] as string))
  expect(imports.length).toBeGreaterThan(sources.length)
  expect(imports.filter((name) => !name.startsWith('node:') && !/^\.\/[a-z-]+\.ts$/.test(name))).toEqual([])
})
