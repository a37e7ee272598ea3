import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openFilesEngine } from '../../src/engines/files/engine.ts'
import { useDirectory } from './directory.ts'
import { inspect, open, reducer, write } from './journal.ts'

const place = useDirectory()

/** Ids that look the same to somebody: to a file system, to a reader, or to a program that shortens or cleans them. */
const ALIKE = [
  ['chat', 'Chat', 'CHAT', 'chat ', ' chat', 'chat.', 'chat\0'],
  ['stra\u00dfe', 'strasse', 'STRASSE', 'STRA\u1e9eE'],
  ['\u00e9', 'e\u0301'],
  ['i', 'I', '\u0130', '\u0131'],
  ['a/b', 'a\\b', 'a:b', 'a_b', 'a-b', 'a b', 'a.b', 'a%2Fb'],
  ['telegram:12', 'telegram:1', 'telegram_12', 'telegram:123'],
  [`${'x'.repeat(200)}1`, `${'x'.repeat(200)}2`],
  ['', '-', '--', ' ', '\t'],
]

/** Ids that mean something to a file system, a shell or an operating system. */
const HOSTILE = [
  '.',
  '..',
  '../../../../tmp/escape',
  '/etc/passwd',
  'C:\\Windows\\system32',
  '\\\\server\\share',
  'CON',
  'nul.txt',
  'COM1',
  'LPT1.jsonl',
  'aux.',
  '~',
  '$(touch escape)',
  '`touch escape`',
  '; rm -rf /',
  'a\nb',
  '\0',
  '-rf',
  '0000000000000000.jsonl',
  'holdfast.json',
  'epoch.boot.1',
  '__proto__',
  '👩‍👩‍👧‍👦'.repeat(20),
  'x'.repeat(512),
]

describe('F27 names collide: ids that look alike are sessions of their own', () => {
  test.each(ALIKE.map((ids) => [ids]))('%j', async (ids) => {
    for (const id of ids) {
      const { replica } = await place().open({ id })
      await replica.submit(write(`for ${JSON.stringify(id)}`))
    }
    for (const id of ids) {
      const { journal } = await place().open({ id })
      expect((await inspect(journal)).notes).toEqual([`for ${JSON.stringify(id)}`])
    }
    const { engine } = await place().open()
    const names: string[] = []
    for await (const name of engine.names()) names.push(name)
    expect(names).toHaveLength(ids.length)
    // They stay apart where the file system does not tell upper from lower case, and where it normalises.
    expect(new Set(names.map((name) => name.toLowerCase().normalize('NFKC'))).size).toBe(ids.length)
  })

  test('one id in two spaces is two sessions', async () => {
    const engine = await openFilesEngine({ directory: place().directory, keysOf: reducer.keysOf })
    expect(engine.name('a', 'b')).not.toBe(engine.name('b', 'a'))
    expect(engine.name('a', 'b')).not.toBe(engine.name('a\0b', ''))
    await engine.close()
  })
})

describe('F38 an id is no path', () => {
  test('every id works, and nothing is written outside of the store or under a name that it chose', async () => {
    const directory = join(place().directory, 'outer', 'store')
    const bystander = join(place().directory, 'outer', 'bystander')
    await mkdir(join(directory, '..'), { recursive: true })
    await writeFile(bystander, 'untouched')
    for (const id of HOSTILE) {
      const { engine, replica } = await open({ directory, id })
      expect(await replica.submit(write(id)), JSON.stringify(id)).toBe('written')
      await engine.close()
    }
    for (const id of HOSTILE) {
      const { engine, journal } = await open({ directory, id })
      expect((await inspect(journal)).notes).toEqual([id])
      await engine.close()
    }
    expect(
      (await readdir(place().directory, { recursive: true })).filter((name) => !name.startsWith(join('outer', 'store'))).sort(),
    ).toEqual(['outer', join('outer', 'bystander')])
    expect(await readFile(bystander, 'utf8')).toBe('untouched')
    for (const name of await readdir(join(directory, 'sessions'), { recursive: true })) {
      for (const part of name.split(sep)) {
        expect(part).toMatch(/^[a-z0-9.-]+$/)
        expect(part).not.toMatch(/^(con|nul|aux|prn|com\d|lpt\d)(\.|$)/)
        expect(part.length).toBeLessThan(100)
      }
    }
  })

  test.each(['', '.', '..', '../x', '/etc/passwd', 'a/b/c', '../../outside', '0'.repeat(32)])(
    'a name that the store did not give (%j) is a mistake',
    async (name) => {
      const { engine } = await place().open()
      expect(() => engine.journal(name)).toThrow(TypeError)
      expect(() => engine.journal(`${engine.name('space', 'id')}/../../${name}`)).toThrow(TypeError)
    },
  )

  test('a space is no path either', async () => {
    const { engine } = await place().open()
    for (const space of HOSTILE) {
      const name = engine.name(space, 'id')
      await engine.journal(name).append(0, 0, Buffer.from(' \nx\n'))
      const found: string[] = []
      for await (const one of engine.names(space)) found.push(one)
      expect(found).toEqual([name])
    }
  })
})
