/** What one upload may cost, in all of its layers, and which sources an archive has. */
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Source } from '../formats/item.ts'
import { type TarFile, tarOf } from '../formats/tar.ts'
import { type BytesLimits, bytesSources } from './bytes.ts'

const MIB = 1024 * 1024

async function sourcesIn(bytes: Uint8Array, limits?: BytesLimits, name = 'upload.tar'): Promise<Source[]> {
  const found: Source[] = []
  for await (const source of bytesSources(name, bytes, limits)) found.push(source)
  return found
}

const file = (path: string, bytes: Uint8Array = Buffer.from('{}\n')): TarFile => ({ path, bytes })
const tooLarge = expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' })

test.each<[string, Uint8Array, BytesLimits?]>([
  ['a path of 40,000 parts', tarOf([file(`${'a/'.repeat(40_000)}x.jsonl`)])],
  ['a path of 65 directories', tarOf([file(`${'a/'.repeat(65)}x.jsonl`)])],
  ['a path of 3,000 characters', tarOf([file(`${'a'.repeat(3000)}.jsonl`)])],
  ['a pax header of 16 MiB', tarOf([file('x'.repeat(16 * MIB))])],
  ['more files than are read', tarOf(Array.from({ length: 11 }, (_, i) => file(`${i}.jsonl`))), { files: 10 }],
  [
    'several compressed files, each within the limit',
    tarOf([1, 2, 3].map((i) => file(`${i}.jsonl.gz`, gzipSync(Buffer.alloc(MIB))))),
    { decompressedBytes: 2 * MIB },
  ],
  [
    'a compressed archive of compressed files',
    gzipSync(tarOf([1, 2].map((i) => file(`${i}.jsonl.gz`, gzipSync(Buffer.alloc(MIB)))))),
    { decompressedBytes: 2 * MIB },
  ],
])('%s is refused before there is a source', async (_, bytes, limits) => {
  await expect(sourcesIn(bytes, limits)).rejects.toEqual(tooLarge)
})

test('one file that decompresses to more than the limit is refused before there is a source', async () => {
  const bytes = gzipSync(Buffer.alloc(2 * MIB + 1))
  await expect(sourcesIn(bytes, { decompressedBytes: 2 * MIB }, 'x.jsonl.gz')).rejects.toEqual(tooLarge)
  const [source] = await sourcesIn(bytes, { decompressedBytes: 2 * MIB + 1 }, 'x.jsonl.gz')
  // Reading it again counts no second time.
  for (let round = 0; round < 3; round++) {
    let length = 0
    for await (const chunk of source?.files[0]?.read() ?? []) length += chunk.length
    expect(length).toBe(2 * MIB + 1)
  }
})

test('sessions, journals, stores and other files of an archive are distinguished', async () => {
  const segment = '0000000000000000.jsonl'
  const space = 'store/sessions/0123456789abcdef0123456789abcdef'
  const sources = await sourcesIn(
    tarOf([
      file('a/messages.jsonl'),
      file('a/history/archive_001/messages.jsonl'),
      file('a/notes/x.jsonl'),
      file('b/history/archive_002/summary.md'),
      file('c/chat.jsonl'),
      file('c/chat.jsonl.tmp'),
      file('d.txt'),
      file('store/holdfast.json'),
      file('store/feed/1.jsonl'),
      file(`${space}/0a/one-0123456789abcdef0123456789abcdef/${segment}`),
      file(`${space}/0b/two-0123456789abcdef0123456789abcdef/${segment}`),
    ]),
  )
  expect(sources.map(({ name, files, orphan }) => [name, files.map(({ path }) => path), orphan])).toEqual([
    ['upload/a', ['messages.jsonl', 'history/archive_001/messages.jsonl', 'notes/x.jsonl'], undefined],
    ['upload/b', ['history/archive_002/summary.md'], undefined],
    [
      `upload/${space}`,
      [`0a/one-0123456789abcdef0123456789abcdef/${segment}`, `0b/two-0123456789abcdef0123456789abcdef/${segment}`],
      undefined,
    ],
    ['upload/c/chat.jsonl', ['chat.jsonl'], undefined],
    ['upload/c/chat.jsonl.tmp', ['chat.jsonl.tmp'], true],
  ])
})
