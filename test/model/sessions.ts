/** Runs of steps on the real store and the naive one. */
import fc from 'fast-check'
import { compareList, compareSession } from './compare.ts'
import * as life from './life.ts'
import * as messages from './messages.ts'
import { Naive } from './naive.ts'
import { race } from './race.ts'
import { type Kind, openReal } from './real.ts'
import { IDS, retry, type Step } from './step.ts'

/** It, or nothing: so many times as often. */
const maybe = <T>(arbitrary: fc.Arbitrary<T>, nothing = 1): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: nothing }, { arbitrary, weight: 1 })

/** The first one is the oldest, so that others are forks of it more often than sessions of their own. */
const id = fc.constantFrom(...IDS, 'a', 'a')
const where = { via: fc.nat(1), id }
const key = fc.nat(30).map((n) => `k${n}`)
const terms = fc.record({
  key: maybe(key),
  expect: maybe(fc.constantFrom('right' as const, 'right' as const, 'right' as const, 'wrong' as const), 2),
})
const name = fc.nat(20).map((n) => `m${n}`)
const draft = fc.record({ name: maybe(name), variant: fc.constantFrom(0, 0, 0, 1), inside: fc.boolean() })
const index = fc.nat(12)
const tags = maybe(fc.subarray(['x', 'y', 'z']))
const either = maybe(fc.constantFrom('start' as const, 'end' as const))
const entry = fc
  .record({ channel: fc.constantFrom('notes', 'state'), key: fc.constantFrom('p', 'q', 'r'), value: maybe(fc.jsonValue({ maxDepth: 1 })) })
  .map(({ value, ...rest }) => (value === undefined ? rest : { ...rest, value: JSON.parse(JSON.stringify(value)) }))
const again = fc.record(
  { via: fc.nat(1), id, terms: fc.record({ key: maybe(key), expect: fc.constant('wrong' as const) }) },
  { requiredKeys: [] },
)

const arbitraries = {
  append: fc
    .record({ ...where, drafts: fc.array(draft, { minLength: 1, maxLength: 3 }), parent: maybe(index, 3), terms })
    .map(messages.append),
  retry: fc.record({ back: fc.nat(9), changed: again }).map(retry),
  retryElsewhere: fc.record({ back: fc.nat(19), changed: fc.record({ id: fc.constantFrom(...IDS) }) }).map(retry),
  replace: fc
    .record({ ...where, message: index, variant: fc.nat(3), old: maybe(fc.constantFrom('right' as const, 'wrong' as const), 2), terms })
    .map(messages.replace),
  snapshot: fc.record({ ...where, name: fc.constantFrom('n0', 'n1', 'm0'), at: maybe(index), terms }).map(messages.snapshot),
  revert: fc.record({ ...where, to: fc.oneof(fc.constantFrom('n0', 'n1', 'm0', 'nobody'), index), terms }).map(messages.revert),
  undo: fc.record({ ...where, terms }).map(messages.undo),
  page: fc.record({ ...where, limit: fc.nat(4), before: maybe(index), after: maybe(index), from: either }).map(messages.page),
  create: fc.record({ ...where, key: maybe(key) }).map(life.create),
  fork: fc.record({ ...where, as: fc.constantFrom(...IDS.slice(1)), at: maybe(index), key: maybe(key) }).map(life.fork),
  child: fc.record({ ...where, as: fc.constantFrom(...IDS), key: maybe(key) }).map(life.child),
  describe: fc
    .record({
      ...where,
      title: maybe(fc.option(fc.string({ maxLength: 5 }))),
      addTags: tags,
      removeTags: tags,
      metadata: maybe(fc.dictionary(fc.constantFrom('f', 'g'), fc.option(fc.nat(3)))),
      terms,
    })
    .map(life.describe),
  putEntries: fc.record({ ...where, entries: fc.array(entry, { minLength: 1, maxLength: 3 }), terms }).map(life.putEntries),
  usage: fc.record({ ...where, model: fc.constantFrom('gpt', 'claude'), tokens: fc.nat(9), terms }).map(life.usage),
  remove: fc.record(where).map(life.remove),
  restore: fc.record(where).map(life.restore),
  purge: fc.record({ via: fc.nat(1), dryRun: fc.boolean() }).map(life.purge),
  look: fc.record(where).map(life.look),
  tree: fc.record(where).map(life.tree),
  list: fc.record({ via: fc.nat(1), limit: fc.integer({ min: 1, max: 3 }), tag: fc.constantFrom('x', 'y', 'z') }).map(life.list),
  reopen: fc.record({ via: fc.nat(1) }).map(life.reopen),
  race: fc.record({ id, batches: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 4 }) }).map(race),
} satisfies Record<string, fc.Arbitrary<Step>>

/** How often each kind of step comes, where everything is tried, and where forks of forks are. */
const FOCUS: Record<'all' | 'forks', Partial<Record<keyof typeof arbitraries, number>>> = {
  all: {
    ...{ append: 12, retry: 8, retryElsewhere: 2, replace: 5, snapshot: 3, revert: 4, undo: 2, page: 4, create: 2, fork: 7, child: 1 },
    ...{ describe: 2, putEntries: 3, usage: 1, remove: 2, restore: 1, purge: 1, look: 5, tree: 1, list: 1, reopen: 1, race: 1 },
  },
  forks: { append: 8, retry: 1, retryElsewhere: 5, replace: 6, revert: 1, create: 2, fork: 8, remove: 2, purge: 1, look: 5, reopen: 1 },
}

export interface ModelOptions {
  readonly runs: number
  readonly length: number
  readonly focus?: keyof typeof FOCUS
}

/**
 * So many runs. What fails is printed with its steps; to run it again, set HOLDFAST_REPLAY to the seed, path and replayPath that were
 * printed, with spaces between them.
 */
export async function runModel(kind: Kind, options: ModelOptions): Promise<void> {
  const [seed, path, replayPath] = process.env.HOLDFAST_REPLAY?.split(' ') ?? []
  const weights = Object.entries(FOCUS[options.focus ?? 'all'])
  const steps = weights.flatMap(([name, weight]) => Array.from({ length: weight }, () => arbitraries[name as keyof typeof arbitraries]))
  const commands = fc.commands(steps, { maxCommands: options.length, size: 'max', ...(replayPath === undefined ? {} : { replayPath }) })
  const replay = seed === undefined || path === undefined ? {} : { seed: Number(seed), path, endOnFailure: true }
  await fc.assert(
    fc.asyncProperty(commands, async (row) => {
      const real = await openReal(kind)
      const naive = new Naive()
      try {
        await fc.asyncModelRun(() => ({ model: naive, real }), row)
        for (const id of IDS) for (const via of [0, 1]) await compareSession(naive, real, via, id)
        await compareList(naive, real, 1, 2)
      } finally {
        await real.dispose()
      }
    }),
    { numRuns: options.runs, ...replay },
  )
}
