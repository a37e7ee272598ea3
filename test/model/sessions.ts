/** Runs of steps on the real store and the naive one. */
import fc from 'fast-check'
import { compareList, compareSession } from './compare.ts'
import * as life from './life.ts'
import * as messages from './messages.ts'
import { Naive } from './naive.ts'
import { race } from './race.ts'
import { type Kind, openReal } from './real.ts'
import { IDS, type Step } from './step.ts'

const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq = 3): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined, freq })

const where = { via: fc.nat(1), id: fc.constantFrom(...IDS, 'a', 'a', 'b') }
const key = fc.constantFrom('k0', 'k1', 'k2')
const terms = fc.record({ key: maybe(key, 1), expect: maybe(fc.constantFrom('right' as const, 'right' as const, 'wrong' as const), 1) })
const name = fc.constantFrom('m0', 'm1', 'm2', 'm3', 'm4')
const draft = fc.record({ name: maybe(name, 1), variant: fc.nat(1).map((n) => (n === 0 ? 0 : 1)), inside: fc.boolean() })
const index = fc.nat(12)
const tag = fc.constantFrom('x', 'y', 'z')
const entry = fc
  .record({ channel: fc.constantFrom('notes', 'state'), key: fc.constantFrom('p', 'q', 'r'), value: maybe(fc.jsonValue({ maxDepth: 1 })) })
  .map(({ value, ...rest }) => (value === undefined ? rest : { ...rest, value: JSON.parse(JSON.stringify(value)) }))

const steps: fc.Arbitrary<Step>[] = [
  ...Array.from({ length: 6 }, () =>
    fc.record({ ...where, drafts: fc.array(draft, { minLength: 1, maxLength: 3 }), parent: maybe(index, 1), terms }).map(messages.append),
  ),
  fc
    .record({ ...where, message: index, variant: fc.nat(3), old: maybe(fc.constantFrom('right' as const, 'wrong' as const), 1), terms })
    .map(messages.replace),
  fc.record({ ...where, name: fc.constantFrom('n0', 'n1', 'm0'), at: maybe(index), terms }).map(messages.snapshot),
  fc.record({ ...where, to: fc.oneof(fc.constantFrom('n0', 'n1', 'm0', 'nobody'), index), terms }).map(messages.revert),
  fc.record({ ...where, terms }).map(messages.undo),
  fc
    .record({
      ...where,
      limit: fc.nat(4),
      before: maybe(index),
      after: maybe(index),
      from: maybe(fc.constantFrom('start' as const, 'end' as const)),
    })
    .map(messages.page),
  fc.record({ ...where, key: maybe(key, 1) }).map(life.create),
  fc.record({ ...where, as: fc.constantFrom(...IDS), at: maybe(index), key: maybe(key, 1) }).map(life.fork),
  fc.record({ ...where, as: fc.constantFrom(...IDS), at: maybe(index), key: maybe(key, 1) }).map(life.fork),
  fc.record({ ...where, as: fc.constantFrom(...IDS), key: maybe(key, 1) }).map(life.child),
  fc
    .record({
      ...where,
      title: maybe(fc.option(fc.string({ maxLength: 5 }))),
      addTags: maybe(fc.subarray(['x', 'y', 'z'])),
      removeTags: maybe(fc.subarray(['x', 'y', 'z'])),
      metadata: maybe(fc.dictionary(fc.constantFrom('f', 'g'), fc.option(fc.nat(3)))),
      terms,
    })
    .map(life.describe),
  fc.record({ ...where, entries: fc.array(entry, { minLength: 1, maxLength: 3 }), terms }).map(life.putEntries),
  fc.record({ ...where, model: fc.constantFrom('gpt', 'claude'), tokens: fc.nat(9), terms }).map(life.usage),
  fc.record(where).map(life.remove),
  fc.record(where).map(life.restore),
  fc.record({ via: fc.nat(1), dryRun: fc.boolean() }).map(life.purge),
  fc.record(where).map(life.look),
  fc.record(where).map(life.look),
  fc.record(where).map(life.tree),
  fc.record({ via: fc.nat(1), limit: fc.integer({ min: 1, max: 3 }), tag }).map(life.list),
  fc.record({ via: fc.nat(1) }).map(life.reopen),
  fc.record({ id: where.id, batches: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 4 }) }).map(race),
]

/**
 * So many runs. What fails is printed with its steps; to run it again, set HOLDFAST_REPLAY to the seed, path and replayPath that were
 * printed, with spaces between them.
 */
export async function runModel(kind: Kind, options: { readonly runs: number; readonly length: number }): Promise<void> {
  const [seed, path, replayPath] = process.env.HOLDFAST_REPLAY?.split(' ') ?? []
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
