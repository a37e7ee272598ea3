/** The last line of a journal, spoiled in place. No later record shows yet that something is missing, and the next append must not hide it. */
import { mkdtemp, open as openFile, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/store/open-store.ts'

let directory: string
let file: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-last-line-'))
  file = join(directory, 'sessions', journalName('default', 'talk'), `${'0'.repeat(16)}.jsonl`)
  const store = await openStore(directory)
  const session = store.session('talk')
  for (const content of ['first', 'second', 'the last one']) await session.append({ role: 'user', content })
  await store.close()
})

afterEach(() => rm(directory, { recursive: true, force: true }))

/** Changes the last line in place, and keeps its length. */
async function spoil(change: (line: Buffer) => void): Promise<void> {
  const bytes = await readFile(file)
  const begin = bytes.lastIndexOf('\n', bytes.length - 2) + 1
  change(bytes.subarray(begin))
  await write(bytes.subarray(begin), begin)
}

async function write(bytes: Buffer, at: number): Promise<void> {
  const handle = await openFile(file, 'r+')
  await handle.write(bytes, 0, bytes.length, at)
  await handle.close()
}

/** The reasons that a read gives, and the kinds of damage that the doctor finds. */
async function look(): Promise<{ reasons: string[]; found: string[] }> {
  const store = await openStore(directory)
  try {
    const { damage } = await store.session('talk').messages()
    const found: string[] = []
    for await (const { kind, severity } of doctor(store)) if (severity === 'damage') found.push(kind)
    return { reasons: damage.map(({ reason }) => reason), found }
  } finally {
    await store.close()
  }
}

async function append(): Promise<void> {
  const store = await openStore(directory)
  try {
    await store.session('talk').append({ role: 'user', content: 'after' })
  } finally {
    await store.close()
  }
}

describe.each([
  ['its first byte', () => 0],
  ['its text', (line: Buffer) => line.indexOf('last')],
  ['a space, which becomes a zero byte', (line: Buffer) => line.indexOf(' ')],
  ['the name of its checksum', (line: Buffer) => line.lastIndexOf('"crc"') + 1],
  ['its checksum', (line: Buffer) => line.lastIndexOf('"crc"') + 8],
  ['its last byte', (line: Buffer) => line.length - 2],
])('with a flipped bit in %s', (name, find) => {
  test('the record stays reported after the next append', async () => {
    await spoil((line) => {
      const at = find(line)
      line[at] = (line[at] as number) ^ (name.startsWith('a space') ? 32 : 1)
    })
    expect(await look()).toEqual({ reasons: ['rotten'], found: ['rotten'] })
    await append()
    expect(await look()).toEqual({ reasons: ['rotten'], found: ['rotten'] })
  })
})

test.each([
  ['other text in its place', (line: Buffer) => line.fill('z', 0, line.length - 1)],
  [
    'another position in it',
    (line: Buffer) => line.fill('9', line.lastIndexOf('"pos":') + 6).write(`,"crc":"00000000"}\n`, line.length - 19),
  ],
])('with %s it has vanished, and nothing may be appended', async (_, change) => {
  await spoil(change)
  expect(await look()).toMatchObject({ reasons: ['vanished'], found: expect.arrayContaining(['vanished']) })
  await expect(append()).rejects.toMatchObject({ code: 'DAMAGED' })
})

test('other text after it is damage for the doctor as for a read, until the next record shows that nothing is missing', async () => {
  await write(Buffer.from('no line of a journal\n'), (await readFile(file)).length)
  expect(await look()).toEqual({ reasons: ['rotten'], found: ['rotten'] })
  await append()
  expect(await look()).toEqual({ reasons: [], found: [] })
})
