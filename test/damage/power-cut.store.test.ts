/** What a power cut leaves of lines that were never synced. Nothing of them was acknowledged, so nothing is reported as lost, before or after the next append. */
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { doctor } from '../../src/doctor/doctor.ts'
import { journalName } from '../../src/engine/names.ts'
import { openStore } from '../../src/index.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-power-cut-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const folderOf = (): string => join(directory, 'sessions', journalName('default', 'a'))

async function append(content: string): Promise<void> {
  await using store = await openStore(directory, { limits: { segmentBytes: 2000 } })
  await store.session('a').append({ role: 'user', content })
}

async function report(): Promise<{
  readonly count: number
  readonly damage: readonly unknown[]
  readonly status: string
  readonly found: string[]
}> {
  await using store = await openStore(directory)
  const session = store.session('a')
  const { messages, damage } = await session.messages({ from: 'start', limit: 100 })
  const found: string[] = []
  for await (const { severity, kind } of doctor(store)) if (severity === 'damage') found.push(kind)
  return { count: messages.length, damage, status: (await session.info()).status, found }
}

test('a seal that is half there, and zeros where the next segment was to begin', async () => {
  for (let i = 0; i < 6; i++) await append(`${i} ${'and so on '.repeat(20)}`)
  const [sealed, next] = (await readdir(folderOf())).filter((name) => name.endsWith('.jsonl')).sort() as [string, string]
  const bytes = await readFile(join(folderOf(), sealed))
  await truncate(join(folderOf(), sealed), bytes.lastIndexOf('{"v":') + 28)
  for (const later of (await readdir(folderOf())).filter((name) => name > sealed)) await rm(join(folderOf(), later))
  await writeFile(join(folderOf(), next), Buffer.alloc(1681))
  await rm(join(directory, 'watermarks'), { recursive: true })

  const { count } = await report()
  expect(await report()).toEqual({ count, damage: [], status: 'ok', found: [] })
  expect(count).toBeGreaterThan(1)
  await append('more')
  expect(await report()).toEqual({ count: count + 1, damage: [], status: 'ok', found: [] })
})

test('zeros where a session was to begin, and half a line of the next writer', async () => {
  await append('first')
  await rm(folderOf(), { recursive: true })
  await rm(join(directory, 'watermarks'), { recursive: true })
  await mkdir(folderOf())
  await writeFile(join(folderOf(), '0000000000000000.jsonl'), Buffer.concat([Buffer.alloc(1163), Buffer.from('\n {"v":2,"id":"01a1')]))
  await append('again')
  expect(await report()).toEqual({ count: 1, damage: [], status: 'ok', found: [] })
})
