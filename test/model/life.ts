/** Steps that begin and end sessions, describe them, and put data beside their messages. */
import { expect } from 'vitest'
import type { Json, JsonObject } from '../../src/record/record.ts'
import { compareFilter, compareList, compareSession, outcomeOf, pick } from './compare.ts'
import type { Naive, NaiveSession } from './naive.ts'
import { change, kind, optionsOf, repeatOf, type Terms, type Where } from './step.ts'

export const create = kind<Where & { readonly key?: string | undefined }>('create', async ({ via, id, key }, naive, real) => {
  const before = naive.sessions.get(id)
  const title = `title of ${id}`
  const outcome = await outcomeOf(real.store(via).create({ id, title, ...(key === undefined ? {} : { key }) }))
  const body = JSON.stringify(['create', id, title])
  const repeat = repeatOf(before, key, body)
  if (repeat === 'CONFLICT') return expect(outcome).toEqual({ code: 'CONFLICT' })
  if (repeat === 'duplicate') return expect(outcome.code).toBeUndefined()
  if (before?.status === 'live') return expect(outcome).toEqual({ code: 'ALREADY_EXISTS' })
  expect(outcome.code).toBeUndefined()
  const model = naive.begin(id)
  model.title = title
  if (key !== undefined) model.calls.set(key, { body, nodes: [] })
  model.version = await real.session(via, id).version()
})

interface ForkArgs extends Where {
  readonly as: string
  readonly at?: number | undefined
  readonly key?: string | undefined
}

export const fork = kind<ForkArgs>('fork', async ({ via, id, as, at, key }, naive, real) => {
  const live = naive.live(id)
  const node = at === undefined ? live?.head : live && pick(live, at)
  const message = at === undefined ? null : (node?.id ?? 'nobody')
  const session = real.session(via, id)
  const told = session.fork({ id: as, ...(message === null ? {} : { at: message }), ...(key === undefined ? {} : { key }) })
  const outcome = await outcomeOf(told)
  if (message === 'nobody') return expect(outcome).toEqual({ code: 'NOT_FOUND' })
  await created({ naive, real, via, id, as, key, outcome, kind: 'fork', message }, (model) => {
    model.inherit(live as NaiveSession, node)
    naive.forks.push({ from: live as NaiveSession, fork: model })
  })
})

export const child = kind<ForkArgs>('child', async ({ via, id, as, key }, naive, real) => {
  const outcome = await outcomeOf(real.session(via, id).child({ id: as, ...(key === undefined ? {} : { key }) }))
  await created({ naive, real, via, id, as, key, outcome, kind: 'child', message: null }, () => undefined)
})

interface CreatedFork extends ForkArgs {
  readonly naive: Naive
  readonly real: Parameters<ReturnType<typeof child>['run']>[1]
  readonly outcome: { readonly code?: string | undefined }
  readonly kind: 'fork' | 'child'
  readonly message: string | null
}

async function created(
  { naive, real, via, id, as, key, outcome, kind: how, message }: CreatedFork,
  begin: (model: NaiveSession) => void,
): Promise<void> {
  if (as === id) return expect(outcome).toEqual({ code: 'ALREADY_EXISTS' })
  const parent = naive.sessions.get(id)
  if (parent === undefined) return expect(outcome).toEqual({ code: 'NOT_FOUND' })
  if (parent.status === 'deleted') return expect(outcome).toEqual({ code: 'CONFLICT' })
  const before = naive.sessions.get(as)
  const body = JSON.stringify([how, id, message])
  const repeat = repeatOf(before, key, body)
  if (repeat === 'CONFLICT') return expect(outcome).toEqual({ code: 'CONFLICT' })
  if (repeat === 'duplicate') return expect(outcome.code).toBeUndefined()
  if (before?.status === 'live') return expect(outcome).toEqual({ code: 'ALREADY_EXISTS' })
  expect(outcome.code).toBeUndefined()
  const model = naive.begin(as)
  begin(model)
  model.origin = { session: id, kind: how, message }
  if (key !== undefined) model.calls.set(key, { body, nodes: [] })
  model.version = await real.session(via, as).version()
}

interface DescribeArgs extends Where {
  readonly title?: string | null | undefined
  readonly addTags?: readonly string[] | undefined
  readonly removeTags?: readonly string[] | undefined
  readonly metadata?: JsonObject | undefined
  readonly terms: Terms
}

export const describe = kind<DescribeArgs>('describe', async ({ via, id, terms, ...said }, naive, real) => {
  const { title, addTags, removeTags, metadata } = said
  const description = {
    ...(title === undefined ? {} : { title }),
    ...(addTags === undefined ? {} : { addTags }),
    ...(removeTags === undefined ? {} : { removeTags }),
    ...(metadata === undefined ? {} : { metadata }),
  }
  const told = real.session(via, id).describe(description, optionsOf(naive.sessions.get(id), terms))
  await change(naive, id, told, {
    operation: 'describe',
    body: said,
    terms,
    carryOut: (model) => {
      const kept = model.tags.filter((tag) => removeTags?.includes(tag) !== true)
      const tags = [...new Set([...kept, ...(addTags ?? [])])]
      model.describe(title, tags, metadata)
    },
  })
})

interface PutArgs extends Where {
  readonly entries: readonly { readonly channel: string; readonly key: string; readonly value?: Json }[]
  readonly terms: Terms
}

export const putEntries = kind<PutArgs>('putEntries', async ({ via, id, entries, terms }, naive, real) => {
  const told = real.session(via, id).putEntries(entries, optionsOf(naive.sessions.get(id), terms))
  if (!naive.sessions.has(id) && terms.expect !== 'wrong') naive.begin(id)
  await change(naive, id, told, {
    operation: 'putEntries',
    body: entries,
    terms,
    carryOut: (model) => model.puts.push(...entries),
  })
})

interface UsageArgs extends Where {
  readonly model: string
  readonly tokens: number
  readonly terms: Terms
}

export const usage = kind<UsageArgs>('usage', async ({ via, id, model: name, tokens, terms }, naive, real) => {
  const told = real
    .session(via, id)
    .recordUsage({ model: name, inputTokens: tokens, outputTokens: 1 }, optionsOf(naive.sessions.get(id), terms))
  await change(naive, id, told, {
    operation: 'usage',
    body: [name, tokens],
    terms,
    background: true,
    carryOut: (model) => {
      const before = model.usage.get(name) ?? { calls: 0, inputTokens: 0, outputTokens: 0 }
      model.usage.set(name, {
        calls: before.calls + 1,
        inputTokens: before.inputTokens + tokens,
        outputTokens: before.outputTokens + 1,
      })
    },
  })
})

export const remove = kind<Where>('delete', async ({ via, id }, naive, real) => {
  const outcome = await outcomeOf(real.session(via, id).delete())
  const live = naive.live(id)
  if (live === undefined) return expect(outcome).toEqual({ code: 'NOT_FOUND' })
  expect(outcome.code).toBeUndefined()
  live.status = 'deleted'
})

export const restore = kind<Where>('restore', async ({ via, id }, naive, real) => {
  const outcome = await outcomeOf(real.session(via, id).restore())
  const model = naive.sessions.get(id)
  if (model === undefined || naive.purged.has(model)) return expect(outcome).toEqual({ code: 'NOT_FOUND' })
  if (model.status === 'live') return expect(outcome).toEqual({ code: 'CONFLICT' })
  expect(outcome.code).toBeUndefined()
  if (outcome.code !== undefined) return
  model.status = 'live'
  model.version = outcome.value.version
})

export const purge = kind<{ readonly via: number; readonly dryRun: boolean }>('purge', async ({ via, dryRun }, naive, real) => {
  const due = [...naive.sessions].filter(([, one]) => one.status === 'deleted' && !naive.purged.has(one))
  const kept = new Set<string>()
  const purged = new Set<string>()
  for await (const told of real.store(via).purge({ olderThanMs: 0, dryRun })) {
    expect(told.action).not.toBe('failed')
    const model = naive.sessions.get(told.session)
    // Of a session that was created anew, what it was before is told of too.
    if (model?.status === 'live' || model === undefined || naive.purged.has(model)) continue
    if (told.action === 'kept') kept.add(told.session)
    else purged.add(told.session)
  }
  expect([...kept, ...purged].sort()).toEqual(due.map(([id]) => id).sort())
  if (dryRun) return
  for (const id of purged) {
    const model = naive.sessions.get(id) as NaiveSession
    naive.purged.add(model)
    model.calls.clear()
  }
  for (const { from, fork: one } of naive.forks) if (naive.purged.has(from)) expect(naive.purged.has(one)).toBe(true)
})

export const look = kind<Where>('look', async ({ via, id }, naive, real) => compareSession(naive, real, via, id))

export const list = kind<{ readonly via: number; readonly limit: number; readonly tag: string }>(
  'list',
  async ({ via, limit, tag }, naive, real) => {
    await compareList(naive, real, via, limit)
    await compareFilter(naive, real, via, tag)
  },
)

export const tree = kind<Where>('tree', async ({ via, id }, naive, real) => {
  const outcome = await outcomeOf(real.session(via, id).tree())
  if (naive.live(id) === undefined) return expect(outcome).toEqual({ code: 'NOT_FOUND' })
  expect(outcome.code).toBeUndefined()
  if (outcome.code !== undefined) return
  expect(outcome.value).toMatchObject({ session: id, kind: 'root' })
  const named = outcome.value.children.map(({ session }) => session)
  for (const name of named) expect(naive.sessions.get(name)?.origin?.session).toBe(id)
  expect(new Set(named).size).toBe(named.length)
})

export const reopen = kind<{ readonly via: number }>('reopen', async ({ via }, _naive, real) => real.reopen(via))
