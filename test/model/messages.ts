/** Steps that append messages, give them other content, and move between them. */
import { expect } from 'vitest'
import type { JsonObject } from '../../src/record/record.ts'
import type { Appended, AppendOptions } from '../../src/store/messages/append.ts'
import { comparePage, outcomeOf, pick } from './compare.ts'
import type { Naive, NaiveSession, Node } from './naive.ts'
import { change, kind, optionsOf, repeatOf, type Terms, type Where } from './step.ts'

/** A message, with an id that others may have too, and one of two bodies. */
interface Draft {
  readonly name?: string | undefined
  readonly variant: number
  /** The id stands in the message itself. */
  readonly inside: boolean
}

interface AppendArgs extends Where {
  readonly drafts: readonly Draft[]
  /** Under which message; one that nobody knows if it is negative. */
  readonly parent?: number | undefined
  readonly terms: Terms
}

function bodyOf({ name, variant, inside }: Draft): JsonObject {
  const content = `${'lorem ipsum '.repeat(8)}${name ?? ''} ${variant}`
  return { role: 'user', content, ...(inside && name !== undefined ? { id: name } : {}) }
}

export const append = kind<AppendArgs>('append', async ({ via, id, terms, ...args }, naive, real) => {
  const names = args.drafts.map(({ name }) => name).filter((name) => name !== undefined)
  if (new Set(names).size < names.length) return
  const before = naive.sessions.get(id)
  const bodies = args.drafts.map(bodyOf)
  const ids = args.drafts.map(({ name, inside }) => (inside ? undefined : name))
  const under =
    args.parent === undefined
      ? undefined
      : args.parent < 0
        ? undefined
        : naive.live(id) && pick(naive.live(id) as NaiveSession, args.parent)
  const parent = args.parent === undefined ? undefined : (under?.id ?? 'nobody')
  const options: AppendOptions = { ...optionsOf(before, terms), ids, ...(parent === undefined ? {} : { parent }) }
  const outcome = await outcomeOf(real.session(via, id).append(bodies.length === 1 ? (bodies[0] as JsonObject) : bodies, options))
  const body = JSON.stringify(['append', bodies, args.drafts.map(({ name }) => name ?? null), parent ?? null])
  const predicted = predict(naive, id, { terms, body, parent, under, drafts: args.drafts, bodies })
  if (typeof predicted === 'string') return expect(outcome).toEqual({ code: predicted })
  expect(outcome.code).toBeUndefined()
  if (outcome.code !== undefined) return
  if (predicted.duplicate !== undefined) {
    expect(outcome.value).toMatchObject({ duplicate: true, ids: predicted.duplicate })
    return
  }
  carryOut(naive, id, { outcome: outcome.value, under, bodies, drafts: args.drafts, key: terms.key, body })
})

interface Wanted {
  readonly terms: Terms
  readonly body: string
  readonly parent: string | undefined
  readonly under: Node | undefined
  readonly drafts: readonly Draft[]
  readonly bodies: readonly JsonObject[]
}

function predict(naive: Naive, id: string, wanted: Wanted): string | { readonly duplicate?: readonly string[] } {
  const { terms, body, parent, under, drafts, bodies } = wanted
  const model = naive.sessions.get(id)
  if (parent !== undefined && (naive.live(id) === undefined || under === undefined)) return 'NOT_FOUND'
  const repeat = repeatOf(model, terms.key, body)
  if (repeat === 'CONFLICT') return repeat
  if (repeat === 'duplicate') return { duplicate: (model?.calls.get(terms.key as string)?.nodes ?? []).map((node) => node.id) }
  if (model?.status === 'deleted') return 'CONFLICT'
  const known = drafts.map(({ name }) => (name === undefined ? undefined : model?.nodes.get(name)))
  if (known.some((node) => node !== undefined)) {
    // The first content counts, whatever it was replaced with.
    const same = known.every((node, i) => node === undefined || isFirst(model as NaiveSession, node, bodies[i] as JsonObject))
    if (!same || known.includes(undefined)) return 'CONFLICT'
    return { duplicate: drafts.map(({ name }) => name as string) }
  }
  return terms.expect === 'wrong' ? 'CONFLICT' : {}
}

function isFirst(model: NaiveSession, node: Node, body: JsonObject): boolean {
  return JSON.stringify(model.contents.get(node.id)?.[0]) === JSON.stringify(body)
}

interface Told {
  readonly outcome: Appended
  readonly under: Node | undefined
  readonly bodies: readonly JsonObject[]
  readonly drafts: readonly Draft[]
  readonly key: string | undefined
  readonly body: string
}

function carryOut(naive: Naive, id: string, { outcome, under, bodies, drafts, key, body }: Told): void {
  const model = naive.sessions.get(id) ?? naive.begin(id)
  expect(outcome.duplicate).toBe(false)
  expect(outcome.version).not.toBe(model.version)
  expect(outcome.ids).toHaveLength(bodies.length)
  expect(outcome.id).toBe(outcome.ids.at(-1))
  if (under !== undefined && under !== model.head) model.move(under)
  const nodes: Node[] = []
  for (const [index, made] of outcome.ids.entries()) {
    expect(model.nodes.has(made)).toBe(false)
    if (drafts[index]?.name !== undefined) expect(made).toBe(drafts[index].name)
    const node = { id: made, parent: model.head, depth: (model.head?.depth ?? 0) + 1 }
    model.append(node, bodies[index] as JsonObject)
    nodes.push(node)
  }
  model.version = outcome.version
  if (key !== undefined) model.calls.set(key, { body, nodes })
}

interface ReplaceArgs extends Where {
  readonly message: number
  readonly variant: number
  readonly old?: 'right' | 'wrong' | undefined
  readonly terms: Terms
}

export const replace = kind<ReplaceArgs>('replace', async ({ via, id, message, variant, old, terms }, naive, real) => {
  const live = naive.live(id)
  const node = live && pick(live, message)
  const session = real.session(via, id)
  const target = node?.id ?? 'nobody'
  const body = { role: 'user', content: `other ${variant}` }
  const known = node === undefined || live === undefined ? undefined : live.content(node.id)
  const told = session.replace(target, body, {
    ...optionsOf(naive.sessions.get(id), terms),
    ...(old === undefined ? {} : { old: old === 'right' && known !== undefined ? known : { other: true } }),
  })
  if (node === undefined) return expect(await outcomeOf(told)).toEqual({ code: 'NOT_FOUND' })
  await change(naive, id, told, {
    operation: 'replace',
    body: [target, body],
    terms,
    refusal: old === 'wrong' ? 'CONFLICT' : undefined,
    carryOut: (model) => model.contents.set(target, [...(model.contents.get(target) as readonly JsonObject[]), body]),
  })
})

interface SnapshotArgs extends Where {
  readonly name: string
  readonly at?: number | undefined
  readonly terms: Terms
}

export const snapshot = kind<SnapshotArgs>('snapshot', async ({ via, id, name, at, terms }, naive, real) => {
  const live = naive.live(id)
  const node = at === undefined ? undefined : live && pick(live, at)
  const target = at === undefined ? undefined : (node?.id ?? 'nobody')
  const told = real.session(via, id).snapshot(name, {
    ...optionsOf(naive.sessions.get(id), terms),
    ...(target === undefined ? {} : { at: target }),
  })
  if (target === 'nobody') return expect(await outcomeOf(told)).toEqual({ code: 'NOT_FOUND' })
  await change(naive, id, told, {
    operation: 'snapshot',
    body: [name, target],
    terms,
    refusal: live?.nodes.has(name) === true ? 'CONFLICT' : undefined,
    carryOut: (model) => model.snapshots.set(name, node ?? model.head),
  })
})

interface RevertArgs extends Where {
  /** A name of a snapshot, or which message. */
  readonly to: string | number
  readonly terms: Terms
}

export const revert = kind<RevertArgs>('revert', async ({ via, id, to, terms }, naive, real) => {
  const live = naive.live(id)
  const target = typeof to === 'string' ? to : ((live && pick(live, to))?.id ?? 'nobody')
  const told = real
    .session(via, id)
    .revert(live?.snapshots.has(target) === true ? { snapshot: target } : { message: target }, optionsOf(naive.sessions.get(id), terms))
  // What to revert to is looked up first.
  if (live === undefined) return expect(await outcomeOf(told)).toEqual({ code: 'NOT_FOUND' })
  const isKnown = live.snapshots.has(target) || live.nodes.has(target)
  const place = live.snapshots.has(target) ? live.snapshots.get(target) : live.nodes.get(target)
  await change(naive, id, told, {
    operation: 'revert',
    body: [target],
    terms,
    refusal: isKnown ? undefined : 'NOT_FOUND',
    idle: place === live.head,
    carryOut: (model) => model.move(place),
  })
})

export const undo = kind<Where & { readonly terms: Terms }>('undo', async ({ via, id, terms }, naive, real) => {
  const told = real.session(via, id).undo(optionsOf(naive.sessions.get(id), terms))
  await change(naive, id, told, {
    operation: 'undo',
    body: [],
    terms,
    refusal: naive.live(id)?.undo.length === 0 ? 'FAILED_PRECONDITION' : undefined,
    carryOut: (model) => {
      model.head = model.undo.pop()
    },
  })
})

interface PageArgs extends Where {
  readonly limit: number
  readonly before?: number | undefined
  readonly after?: number | undefined
  readonly from?: 'start' | 'end' | undefined
}

export const page = kind<PageArgs>('page', async ({ via, id, limit, before, after, from }, naive, real) => {
  const live = naive.live(id)
  if (live === undefined) return
  const named = (index: number | undefined): string | undefined => (index === undefined ? undefined : (pick(live, index)?.id ?? 'nobody'))
  const [first, last] = [named(after), named(before)]
  await comparePage(live, real.session(via, id), {
    limit,
    ...(last === undefined ? {} : { before: last }),
    ...(first === undefined ? {} : { after: first }),
    ...(from === undefined ? {} : { from }),
  })
})
