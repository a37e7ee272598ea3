/** Lines that are written by hand, as docs/format.md says: the library and the reader take them alike. */
import { appendFileSync, readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { useDirectory } from '../store/directory.ts'
import { StoreReader } from './reader/store.ts'
import { segmentsOf } from './scenarios.ts'
import { sessionsIn, viewOfLibrary, viewOfReader } from './view.ts'

const directory = useDirectory()

/** Appends a line to the one segment of a session, after a lead-in. `shift`: as if another writer had been first. */
function write(fields: object, { prev, shift = 0 }: { readonly prev: string; readonly shift?: number }): string {
  const file = segment()
  const pos = readFileSync(file).length + 2 + shift
  const { parent, ...payload } = { parent: undefined, ...fields }
  const head = { v: 2, id: `by-hand-${pos}`, at: '2026-11-15T00:00:00.000Z', ...payload }
  const text = JSON.stringify({ ...head, ...(parent === undefined ? {} : { parent }), prev, pos }).slice(0, -1)
  const crc = crc32(text).toString(16).padStart(8, '0')
  appendFileSync(file, ` \n${text},"crc":"${crc}"}\n`)
  return crc
}

function segment(): string {
  return segmentsOf(directory().path, 'talk')[0] as string
}

function lastOf(): { prev: string; at: number } {
  const journal = new StoreReader(directory().path).session('default', 'talk')?.journal
  const last = journal?.counted.at(-1)
  return { prev: last?.crc ?? '', at: last?.at ?? 0 }
}

async function begun(): Promise<void> {
  const store = await directory().open()
  await store.session('talk').append({ id: 'one', role: 'user', content: 'One' })
  await store.close()
}

async function compared(): Promise<{ ids: unknown; status: unknown; types: string[] }> {
  const found = sessionsIn(new StoreReader(directory().path))
  const store = await directory().open()
  const view = viewOfReader(found)
  expect(view).toEqual(await viewOfLibrary(store, found))
  await store.close()
  const { live, about, records } = view.talk as { live: string[]; about: { status: string }; records: [number, string, string][] }
  return { ids: live, status: about.status, types: records.map(([, type]) => type) }
}

/** The second message, after the first one. */
function second(id: string, first: number): object {
  const run = { at: first, n: 0, t: 0, parent: null }
  return {
    type: 'messages.appended',
    messages: [{ id, role: 'user', content: id }],
    n: 1,
    t: 11,
    tokens: 11,
    run,
    ids: [id],
    parent: [first, 0],
  }
}

test('a message at its position counts', async () => {
  await begun()
  const { prev, at } = lastOf()
  write(second('two', at), { prev })
  expect(await compared()).toMatchObject({ ids: ['one', 'two'], status: 'ok' })
})

test('a message that lost a race, a half line and a record of an unknown type change nothing', async () => {
  await begun()
  const { prev, at } = lastOf()
  write(second('lost race', at), { prev, shift: -40 })
  appendFileSync(segment(), '{"v":2,"id":"half of a li')
  const unknown = write({ type: 'mood.noted', mood: 'calm' }, { prev })
  write(second('two', at), { prev: unknown })
  appendFileSync(segment(), '{"v":2,"id":"no newline yet')
  expect(await compared()).toMatchObject({
    ids: ['one', 'two'],
    status: 'ok',
    types: ['messages.appended', 'mood.noted', 'messages.appended', 'session.created'],
  })
})

test('a record whose prev names no line shows that one was lost', async () => {
  await begun()
  write(second('two', lastOf().at), { prev: '0badc0de' })
  expect(await compared()).toMatchObject({ ids: ['one', 'two'], status: 'damaged' })
})

test('a line of a newer format is refused, and is no damage', async () => {
  await begun()
  const { prev } = lastOf()
  write({ v: 3, type: 'messages.appended' }, { prev })
  expect(() => sessionsIn(new StoreReader(directory().path))).toThrow('UNSUPPORTED_VERSION')
  const store = await directory().open()
  await expect(store.session('talk').messages()).rejects.toMatchObject({ code: 'UNSUPPORTED_VERSION' })
})
