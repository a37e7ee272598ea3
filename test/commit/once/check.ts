/** What must hold of commits at any moment, whoever looks. */
import { expect } from 'vitest'
import type { Archive } from '../../../src/session/state.ts'
import { Handle } from '../../../src/store/handle.ts'
import { Transcript } from '../../../src/store/messages/transcript.ts'
import type { Store } from '../../../src/store/store.ts'
import type { NaiveSession } from './naive.ts'

interface Held {
  readonly archive: Archive
  readonly takes: readonly string[]
  readonly all: readonly string[]
}

/** What each archive was seen to hold: that never changes. By session and number. */
export type Seen = Map<string, string>

export async function checkSession(store: Store, naive: NaiveSession, seen: Seen): Promise<void> {
  const session = store.session(naive.id)
  const path = naive.path
  const branch = (await session.messages({ archived: true, limit: 1000 })).messages.map(({ id }) => id)
  expect(branch, 'the branch').toEqual(path)

  const held = await heldBy(store, naive.id)
  const archived = new Set(held.flatMap(({ all }) => all))
  const live = (await session.messages({ limit: 1000 })).messages.map(({ id }) => id)
  expect(live, 'live is what no archive holds').toEqual(path.filter((id) => !archived.has(id)))
  const info = await session.info()
  expect([info.messageCount, info.totalMessageCount], 'counts').toEqual([live.length, path.length])
  if (live.length === 0) expect(info.pendingTokens, 'tokens of nothing').toBe(0)

  const taken = held.flatMap(({ takes }) => takes)
  expect(new Set(taken).size, 'taken once').toBe(taken.length)
  for (const id of taken) expect(naive.isOwn(id), `${id} was appended here`).toBe(true)
  for (const { archive, all, takes } of held) {
    expect(new Set(all).size, 'nothing is held twice').toBe(all.length)
    // Of an archive that a fork inherited in part, only that part is here.
    if (archive.session === null) expect(all.length, 'an archive has as many messages as it says').toBe(archive.n)
    const key = JSON.stringify([naive.id, archive.number, archive.task])
    expect(JSON.stringify([all, takes]), 'an archive does not change').toBe(seen.get(key) ?? JSON.stringify([all, takes]))
    seen.set(key, JSON.stringify([all, takes]))
  }
  await checkWindow(store, naive, held)
}

/** Each message of the branch is in the window, or in a summary of messages that are all on the branch; and never in both. */
async function checkWindow(store: Store, naive: NaiveSession, held: readonly Held[]): Promise<void> {
  const window = await store.session(naive.id).window({ budget: 1_000_000 })
  const path = naive.path
  const good = held.filter(({ archive, all }) => {
    return archive.status === 'completed' && all.length === archive.n && all.every((id) => path.includes(id))
  })
  const covered = new Set(good.flatMap(({ all }) => all))
  expect(
    window.messages.map(({ id }) => id),
    'the window',
  ).toEqual(path.filter((id) => !covered.has(id)))
  expect(window.overview === null, 'an overview if there is a summary').toBe(good.length === 0)
  expect(window.abstracts.length + (window.overview === null ? 0 : 1)).toBe(good.length)
}

async function heldBy(store: Store, id: string): Promise<Held[]> {
  const handle = new Handle(store.parts, id)
  const state = await handle.liveState()
  const transcript = new Transcript(store.parts, id, state)
  const idsOf = async (stretches: Archive['takes']): Promise<string[]> => {
    const ids: string[] = []
    for await (const message of transcript.oldestFirst(stretches)) ids.push(message.id)
    return ids
  }
  const held: Held[] = []
  for (const archive of state.archives) {
    const takes = await idsOf(archive.takes)
    const all = [...(await idsOf(archive.covers)), ...takes]
    held.push({ archive, takes, all })
  }
  return held
}

/** Over all sessions: what was extracted, and that it was extracted from what was taken. */
export async function checkExtraction(store: Store, sessions: readonly NaiveSession[]): Promise<void> {
  const extracted: string[] = []
  for (const { id } of sessions) {
    const session = store.session(id)
    for (const { archive, takes } of await heldBy(store, id)) {
      if (archive.session !== null || archive.status !== 'completed') continue
      const { memories = [], overview } = (await session.archive(archive.number)) ?? {}
      const sources = memories.flatMap((memory) => memory.sources)
      expect(sources.toSorted(), 'all that was taken is extracted, and nothing else').toEqual(takes.toSorted())
      expect(overview).toBeTruthy()
      extracted.push(...sources)
    }
  }
  expect(new Set(extracted).size, 'extracted once').toBe(extracted.length)
  const remembered = (await store.memories()).flatMap(({ sources }) => sources.flatMap(({ messages }) => messages))
  expect(remembered.toSorted(), 'remembered').toEqual(extracted.toSorted())
}
