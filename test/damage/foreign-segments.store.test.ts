/** Early segments of two sessions, exchanged: no answer shows what belongs to the other session, and each one reports what is missing. */
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'

const COUNT = 12
const LIMITS = { segmentBytes: 2000 }

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-foreign-'))
  const store = await openStore(directory, { limits: LIMITS })
  for (const id of ['a', 'b']) {
    const session = store.session(id)
    for (let i = 0; i < COUNT; i++) await session.append({ role: 'user', content: `from ${id}, number ${i} ${'x'.repeat(300)}` })
  }
  await store.close()
})

afterEach(() => rm(directory, { recursive: true, force: true }))

async function segmentsOf(id: string): Promise<string[]> {
  const folder = join(directory, 'sessions', journalName('default', id))
  return (await readdir(folder))
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .map((name) => join(folder, name))
}

async function exchange(index: number): Promise<void> {
  const [one = '', other = ''] = [(await segmentsOf('a'))[index], (await segmentsOf('b'))[index]]
  await rename(one, `${one}.moved`)
  await rename(other, one)
  await rename(`${one}.moved`, other)
}

async function expectOwnOnly(store: Store): Promise<void> {
  for (const [id, foreign] of [
    ['a', 'from b'],
    ['b', 'from a'],
  ] as const) {
    const session = store.session(id)
    const { messages, damage } = await session.messages({ from: 'start', limit: 100 })
    expect(JSON.stringify(messages)).not.toContain(foreign)
    expect(messages.length).toBeGreaterThan(0)
    expect(messages.length + (damage[0]?.count ?? 0)).toBe(COUNT)
    expect(damage).toMatchObject([{ reason: 'missing' }])
    expect(JSON.stringify((await session.window({ budget: 100_000 })).messages)).not.toContain(foreign)
    const followed: unknown[] = []
    for await (const change of session.follow({ fromStart: true })) {
      followed.push(change)
      if (JSON.stringify(change).includes(`number ${COUNT - 1}`)) break
    }
    expect(JSON.stringify(followed)).not.toContain(foreign)
    const found = await store.search(`"${foreign}"`, { session: id })
    expect(found.hits).toEqual([])
  }
}

test.each([0, 1])('segment %i, before a process opens the store', async (index) => {
  await exchange(index)
  const store = await openStore(directory)
  await expectOwnOnly(store)
  const findings = []
  for await (const finding of doctor(store)) findings.push(finding)
  expect(findings.filter(({ kind }) => kind === 'wrong-identity').map(({ session }) => session)).toEqual(['a', 'b'])
  await store.close()
})

test.each([0, 1])('segment %i, while a process has read both sessions', async (index) => {
  const store = await openStore(directory)
  for (const id of ['a', 'b']) await store.session(id).messages({ from: 'start', limit: 100 })
  await exchange(index)
  await expectOwnOnly(store)
  await exchange(index)
  for (const id of ['a', 'b']) {
    const { messages, damage } = await store.session(id).messages({ from: 'start', limit: 100 })
    expect(messages).toHaveLength(COUNT)
    expect(damage).toEqual([])
  }
  await store.close()
})
