import { expect, test } from 'vitest'
import type { Source } from '../../formats/item.ts'
import { openStore } from '../../store/open-store.ts'
import type { Store } from '../../store/store.ts'
import { DigestedWhileRead, digestOfSource, LARGE_BYTES, largeSize } from './digest.ts'
import { importInto } from './import.ts'
import type { ImportedSession } from './report.ts'

/** A log of more than `LARGE_BYTES`, of which it is counted how often it is read to its end. */
function large(lines: number, name = '/a/chat.jsonl'): { readonly source: Source; readonly reads: () => number } {
  const line = (n: number): string => `{"role":"user","content":"${n} ${'x'.repeat(100_000)}"}\n`
  const bytes = Buffer.from(Array.from({ length: lines }, (_, n) => line(n)).join(''))
  let reads = 0
  const read = async function* () {
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
    reads++
  }
  return { source: { name, files: [{ path: 'chat.jsonl', size: bytes.length, read }] }, reads: () => reads }
}

async function importOne(store: Store, source: Source): Promise<ImportedSession> {
  const reports: ImportedSession[] = []
  for await (const report of importInto(store, [source])) reports.push(report)
  return reports[0] as ImportedSession
}

test('what is told while it is read is what is told before', async () => {
  const { source } = large(45)
  const late = new DigestedWhileRead(source, 'openai')
  for await (const _ of late.source.files[0]?.read() ?? []);
  expect(await late.digested()).toEqual(await digestOfSource(source, 'openai'))
  expect(await new DigestedWhileRead(source, 'openai').digested()).toEqual(await digestOfSource(source, 'openai'))
})

test('only one large file whose size is certain can be told by it', () => {
  const { source } = large(45)
  const [file] = source.files
  if (file === undefined) throw new Error()
  expect(largeSize(source)).toBe(file.size)
  for (const other of [
    { ...source, orphan: true },
    { ...source, files: [file, file] },
    { ...source, files: [{ ...file, size: LARGE_BYTES - 1 }] },
    { ...source, files: [{ ...file, fault: () => undefined }] },
  ])
    expect(largeSize(other)).toBeUndefined()
})

test('a large file is read once to be imported, is known when it comes again, from elsewhere too, and adds what is new when it has grown', async () => {
  const store = await openStore('memory:')
  const first = large(45)
  const report = await importOne(store, first.source)
  expect(report).toMatchObject({ messages: 45, skipped: 0 })
  expect(first.reads()).toBe(1)
  expect(await importOne(store, large(45, '/b/copy.jsonl').source)).toMatchObject({ session: report.session, messages: 0, skipped: 45 })
  expect(await importOne(store, large(47).source)).toMatchObject({ session: report.session, messages: 2, skipped: 45 })
})
