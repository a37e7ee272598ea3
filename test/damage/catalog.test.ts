/** What a session lost is not in the catalog any more once the loss is known: the catalog equals one that is built again. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/store/open-store.ts'
import { answersOf } from '../catalog/answers.ts'

test('the catalog forgets messages and counts of a segment that was deleted, after the doctor found the gap', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-catalog-damage-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  await using store = await openStore(directory, { limits: { segmentBytes: 4096 } })
  const session = await store.session('talk')
  for (let i = 0; i < 30; i++) await session.append({ role: 'user', content: `word${i} ${'and so on '.repeat(30)}` })
  const words = Array.from({ length: 30 }, (_, i) => `word${i}`)
  await answersOf(store, { words })

  const folder = join(directory, 'sessions', journalName('default', 'talk'))
  const segments = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  expect(segments.length).toBeGreaterThan(3)
  rmSync(join(folder, segments.sort()[1] as string))
  for await (const _ of doctor(store));
  const followed = await answersOf(store, { words })
  await store.rebuildCatalog()
  expect(followed).toEqual(await answersOf(store, { words }))
})
