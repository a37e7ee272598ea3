/** Bytes that rot in a session that nobody writes to: the catalog cannot see it, and is told by whoever does. */
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { repairSession } from '../../src/doctor/repair.ts'
import { openStore } from '../../src/store/open-store.ts'
import type { Store } from '../../src/store/store.ts'

let directory = ''
let store: Store

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
  store = await openStore(directory, { limits: { segmentBytes: 1500 } })
  for (const id of ['long', 'short', 'sound']) {
    const session = store.session(id)
    for (let i = 0; i < (id === 'short' ? 2 : 20); i++) await session.append({ role: 'user', content: `rotten ${i} ${'x'.repeat(300)}` })
  }
  expect(await statuses()).toEqual({ long: 'ok', short: 'ok', sound: 'ok' })
})

afterEach(async () => {
  await store.close()
  rmSync(directory, { recursive: true })
})

async function statuses(): Promise<Record<string, string>> {
  return Object.fromEntries((await store.list()).sessions.map(({ id, status }) => [id, status]))
}

/** Flips a bit in the first message of a session; a second time puts it right. */
function flip(id: string): void {
  const name = readdirSync(directory, { recursive: true, encoding: 'utf8' }).find(
    (one) => one.includes(`/${id}-`) && one.endsWith('/0000000000000000.jsonl'),
  )
  const file = join(directory, name ?? '')
  const bytes = readFileSync(file)
  const at = bytes.indexOf('rotten 0 ') + 20
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(file, bytes)
}

test('what the doctor finds damaged is flagged in lists, in the last segment and long before it, until it is whole again', async () => {
  flip('long')
  flip('short')
  expect(await statuses()).toEqual({ long: 'ok', short: 'ok', sound: 'ok' })
  for await (const _ of doctor(store));
  expect(await statuses()).toEqual({ long: 'damaged', short: 'damaged', sound: 'ok' })
  expect((await store.list({ status: 'damaged' })).sessions.map(({ id }) => id).sort()).toEqual(['long', 'short'])
  expect((await store.stats()).sessions).toMatchObject({ ok: 1, damaged: 2 })
  await store.session('long').append({ role: 'user', content: 'and goes on' })
  expect(await statuses()).toMatchObject({ long: 'damaged' })
  flip('long')
  flip('short')
  for await (const _ of doctor(store, { session: 'long' }));
  expect(await statuses()).toEqual({ long: 'ok', short: 'damaged', sound: 'ok' })
  for await (const _ of doctor(store));
  expect(await statuses()).toEqual({ long: 'ok', short: 'ok', sound: 'ok' })
})

test('a session that looked damaged, and in which a later record misses nothing, is listed as ok again', async () => {
  const name = readdirSync(directory, { recursive: true, encoding: 'utf8' }).find(
    (one) => one.includes('/short-') && one.endsWith('.jsonl'),
  )
  const file = join(directory, name ?? '')
  await store.close()
  // The rest of a line whose writer lost a race in the middle of its write.
  appendFileSync(file, 'te","content":"lost"}],"prev":"00000000","pos":1,"crc":"00000000"}\n')
  store = await openStore(directory)
  for await (const _ of doctor(store));
  expect(await statuses()).toMatchObject({ short: 'damaged' })
  await store.session('short').append({ role: 'user', content: 'goes on' })
  expect(await statuses()).toMatchObject({ short: 'ok' })
})

test('a catalog that is made anew flags what is damaged, wherever in a journal it is', async () => {
  flip('long')
  flip('short')
  await store.rebuildCatalog()
  expect(await statuses()).toEqual({ long: 'damaged', short: 'damaged', sound: 'ok' })
})

test('damage that was taken note of is not flagged any longer', async () => {
  flip('long')
  const findings = []
  for await (const finding of doctor(store)) findings.push(finding)
  expect(await statuses()).toMatchObject({ long: 'damaged' })
  expect(await repairSession(store, 'long', findings)).toEqual([])
  expect(await statuses()).toMatchObject({ long: 'ok' })
})

test('the doctor makes no catalog where there is none', async () => {
  await store.close()
  for (const name of readdirSync(directory)) if (name.startsWith('catalog.db')) rmSync(join(directory, name))
  store = await openStore(directory)
  flip('long')
  for await (const _ of doctor(store));
  expect(readdirSync(directory).filter((name) => name.startsWith('catalog.db'))).toEqual([])
})
