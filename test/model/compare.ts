/** Holds what the real store shows against the naive one. */
import { expect } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import type { KeptMessage } from '../../src/store/messages/stored-message.ts'
import type { Session } from '../../src/store/session.ts'
import type { Naive, NaiveSession, Node } from './naive.ts'
import type { Real } from './real.ts'

const CHANNELS = ['notes', 'state']

/** The code of the refusal, or what it came to. */
export async function outcomeOf<T>(
  promise: Promise<T>,
): Promise<{ readonly value: T; readonly code?: undefined } | { readonly code: string }> {
  try {
    return { value: await promise }
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (typeof code !== 'string') throw error
    return { code }
  }
}

interface Shown {
  readonly id: string
  readonly depth: number
  readonly replaced: boolean
  readonly message: JsonObject
}

function shownOf(session: NaiveSession, nodes: readonly Node[]): Shown[] {
  return nodes.map(({ id, depth }) => ({
    id,
    depth,
    replaced: (session.contents.get(id)?.length ?? 0) > 1,
    message: session.content(id),
  }))
}

function shown(messages: readonly KeptMessage[]): Shown[] {
  return messages.map(({ id, depth, replaced, message }) => ({ id, depth, replaced, message }))
}

/** All pages from one end, joined. */
async function paged(session: Session<JsonObject>, from: 'start' | 'end', limit: number): Promise<Shown[]> {
  let all: KeptMessage[] = []
  for (;;) {
    const edge = from === 'start' ? all.at(-1)?.id : all[0]?.id
    const bound = edge === undefined ? { from } : from === 'start' ? { after: edge } : { before: edge }
    const { messages, more } = await session.messages({ limit, ...bound })
    all = from === 'start' ? [...all, ...messages] : [...messages, ...all]
    if (!more) return shown(all)
    expect(messages).toHaveLength(limit)
  }
}

export async function compareSession(naive: Naive, real: Real, via: number, id: string): Promise<void> {
  const session = real.session(via, id)
  const model = naive.live(id)
  if (model === undefined) {
    expect(await outcomeOf(session.messages())).toEqual({ code: 'NOT_FOUND' })
    expect(await outcomeOf(session.info())).toEqual({ code: 'NOT_FOUND' })
    return
  }
  const path = shownOf(model, model.path)
  expect(await paged(session, 'start', 3)).toEqual(path)
  expect(await paged(session, 'end', 2)).toEqual(path)
  expect(shown((await session.messages({ limit: 1000, from: 'start' })).messages)).toEqual(path)
  const info = await session.info()
  expect(info).toMatchObject({
    id,
    status: 'ok',
    version: model.version,
    title: model.title,
    tags: model.tags,
    metadata: model.metadata,
    parent: model.origin,
    messageCount: path.length,
    totalMessageCount: path.length,
    canUndo: model.undo.length > 0,
  })
  expect(Object.keys(info.metadata).length).toBe(Object.keys(model.metadata).length)
  expect(new Map(info.snapshots.map(({ name, messageCount, current }) => [name, { messageCount, current }]))).toEqual(
    new Map([...model.snapshots].map(([name, node]) => [name, { messageCount: node?.depth ?? 0, current: node === model.head }])),
  )
  for (const node of model.nodes.values()) {
    expect(shown([(await session.message(node.id)) as KeptMessage])).toEqual(shownOf(model, [node]))
    const contents = model.contents.get(node.id) as readonly JsonObject[]
    if (contents.length > 1) expect((await session.revisions(node.id)).revisions.map(({ message }) => message)).toEqual(contents)
  }
  expect(await session.message('nobody')).toBeUndefined()
  for (const channel of CHANNELS) {
    const entries: unknown[] = []
    for await (const { key, value } of session.entries(channel)) {
      entries.push({ key, value })
      expect(await session.entry(channel, key)).toMatchObject({ channel, key, value })
    }
    expect(entries).toEqual(model.entries(channel))
  }
  expect(new Map((await session.usage()).map(({ model: name, ...rest }) => [name, rest]))).toEqual(model.usage)
}

/** One page, with every choice of bounds. */
export async function comparePage(
  model: NaiveSession,
  session: Session<JsonObject>,
  options: { readonly limit: number; readonly before?: string; readonly after?: string; readonly from?: 'start' | 'end' },
): Promise<void> {
  const { limit, before, after, from = after === undefined ? 'end' : 'start' } = options
  const path = model.path
  const bounds = [before, after].filter((id) => id !== undefined)
  const outcome = await outcomeOf(session.messages(options))
  if (bounds.some((id) => !path.some((node) => node.id === id))) {
    expect(outcome).toEqual({ code: 'NOT_FOUND' })
    return
  }
  const depthOf = (id: string | undefined, otherwise: number): number => path.find((node) => node.id === id)?.depth ?? otherwise
  const within = path.filter(({ depth }) => depth > depthOf(after, 0) && depth < depthOf(before, path.length + 1))
  const page = from === 'start' ? within.slice(0, limit) : within.slice(Math.max(within.length - limit, 0))
  expect(outcome.code).toBeUndefined()
  if (outcome.code !== undefined) return
  expect(shown(outcome.value.messages)).toEqual(shownOf(model, page))
  expect(outcome.value.more).toBe(within.length > limit)
}

/** Every session that is not deleted is listed once, on whichever page; those deleted likewise. */
export async function compareList(naive: Naive, real: Real, via: number, limit: number): Promise<void> {
  for (const deleted of [false, true]) {
    const ids: string[] = []
    const times: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await real
        .store(via)
        .list({ ...(deleted ? { status: 'deleted' } : {}), limit, ...(cursor === undefined ? {} : { cursor }) })
      ids.push(...page.sessions.map(({ id }) => id))
      times.push(...page.sessions.map(({ updatedAt }) => updatedAt))
      if (page.cursor === null) break
      expect(page.sessions).toHaveLength(limit)
      cursor = page.cursor
    }
    const expected = [...naive.sessions].filter(([, one]) => (one.status === 'deleted') === deleted && !naive.purged.has(one))
    expect(ids.toSorted()).toEqual(expected.map(([id]) => id).sort())
    expect(times).toEqual(times.toSorted().reverse())
  }
}

export async function compareFilter(naive: Naive, real: Real, via: number, tag: string): Promise<void> {
  const { sessions } = await real.store(via).list({ tag })
  const expected = [...naive.sessions].filter(([, one]) => one.status === 'live' && one.tags.includes(tag))
  expect(sessions.map(({ id }) => id).sort()).toEqual(expected.map(([id]) => id).sort())
}

export function pick(model: NaiveSession, index: number): Node | undefined {
  const nodes = [...model.nodes.values()]
  return nodes[index % Math.max(nodes.length, 1)]
}
