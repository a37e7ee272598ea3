/** What a session lost is not in the catalog any more once the loss is known: the catalog equals one that is built again. */
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Worker } from '../../src/commit/worker.ts'
import { doctor } from '../../src/doctor/doctor.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/store/open-store.ts'
import { answersOf } from '../catalog/answers.ts'
import { StubModel } from '../commit/stub-model.ts'

test.each([
  ['a segment in the middle', 1, 'the doctor found the gap'],
  ['a segment in the middle', 1, 'the loss was accepted'],
  ['the first segment', 0, 'the loss was accepted'],
  ['the last segment', -1, 'the loss was accepted'],
] as const)('the catalog forgets messages, memories and counts of %s that was deleted (%i), after %s', async (_, lost, after) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-catalog-damage-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  await using store = await openStore(directory, { limits: { segmentBytes: 4096 } })
  const session = store.session('talk')
  const worker = new Worker(store, { model: new StubModel() })
  for (let i = 0; i < 30; i++) {
    await session.append({ role: 'user', content: `word${i} ${'and so on '.repeat(30)}` })
    if (i % 4 !== 3) continue
    await session.commit()
    await worker.drain()
  }
  const words = Array.from({ length: 30 }, (_, i) => `word${i}`)
  await answersOf(store, { words })
  expect((await store.memories()).length).toBeGreaterThan(5)

  const folder = join(directory, 'sessions', journalName('default', 'talk'))
  const segments = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  expect(segments.length).toBeGreaterThan(3)
  rmSync(join(folder, segments.sort().at(lost) as string))
  if (after === 'the loss was accepted') await session.acceptDamage()
  else for await (const _ of doctor(store));
  const followed = await answersOf(store, { words })
  await store.rebuildCatalog()
  expect(followed).toEqual(await answersOf(store, { words }))
})

test.each([
  ['as long', 'two'],
  ['longer', 'a text that is longer than the other one'],
])('the next list shows both sessions whose files were swapped as damaged: the other one is %s', async (_, text) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-catalog-swap-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const fileOf = (id: string): string => join(directory, 'sessions', journalName('default', id), '0000000000000000.jsonl')
  const listed = async (): Promise<string[]> => {
    await using store = await openStore(directory)
    return (await store.list()).sessions.map(({ id, status }) => `${id} ${status}`).sort()
  }
  await using store = await openStore(directory)
  await store.session('a').append({ role: 'user', content: 'one' })
  await store.session('b').append({ role: 'user', content: text })
  await store.close()
  expect(await listed()).toEqual(['a ok', 'b ok'])
  swap(fileOf('a'), fileOf('b'))
  expect(await listed()).toEqual(['a damaged', 'b damaged'])
})

test('a search while files are swapped hides nothing from the searches after they were put back', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-catalog-swap-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const fileOf = (id: string): string => join(directory, 'sessions', journalName('default', id), '0000000000000000.jsonl')
  const found = async (word: string): Promise<string[]> => {
    await using store = await openStore(directory)
    return (await store.search(word)).hits.map(({ session }) => session)
  }
  await using store = await openStore(directory)
  await store.session('short').append({ role: 'user', content: 'apple' })
  await store.session('long').append({ role: 'user', content: `pear ${'and so on '.repeat(50)}` })
  // The rows are in the catalog now, and the text is not.
  await store.list()
  await store.close()
  swap(fileOf('short'), fileOf('long'))
  expect([await found('apple'), await found('pear')]).toEqual([[], []])
  swap(fileOf('short'), fileOf('long'))
  expect([await found('apple'), await found('pear')]).toEqual([['short'], ['long']])
})

test('messages of a segment that was put back are found again once the doctor has seen it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-catalog-damage-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  await using store = await openStore(directory, { limits: { segmentBytes: 4096 } })
  const session = store.session('talk')
  const words = Array.from({ length: 30 }, (_, i) => `word${i}`)
  for (const word of words) await session.append({ role: 'user', content: `${word} ${'and so on '.repeat(30)}` })
  const before = await answersOf(store, { words })
  const folder = join(directory, 'sessions', journalName('default', 'talk'))
  const segments = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const middle = join(folder, segments.sort()[1] as string)
  renameSync(middle, join(directory, 'aside'))
  for await (const _ of doctor(store));
  expect(await answersOf(store, { words })).not.toEqual(before)
  renameSync(join(directory, 'aside'), middle)
  for await (const _ of doctor(store));
  expect(await answersOf(store, { words })).toEqual(before)
})

function swap(one: string, other: string): void {
  renameSync(one, `${one}.aside`)
  renameSync(other, one)
  renameSync(`${one}.aside`, other)
}
