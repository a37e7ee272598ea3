import fc from 'fast-check'
import { test } from 'vitest'
import { StubModel } from '../stub-model.ts'
import { checkExtraction, checkSession, type Seen } from './check.ts'
import { NaiveSession } from './naive.ts'
import { perform, type Step, steps } from './steps.ts'
import { type Kind, World } from './world.ts'

async function run(kind: Kind, row: readonly Step[]): Promise<void> {
  const world = await World.open(kind)
  const scene = { world, sessions: [new NaiveSession('first')], made: 0 }
  const seen: Seen = new Map()
  try {
    await world.store(0).create({ id: 'first' })
    for (const [index, step] of row.entries()) {
      const touched = await perform(scene, step)
      await checkSession(world.store(index), touched, seen)
    }
    await checkExtraction(world.store(0), scene.sessions)
    await world.work([new StubModel()])
    for (const via of [0, 1]) {
      for (const session of scene.sessions) await checkSession(world.store(via), session, seen)
      await checkExtraction(world.store(via), scene.sessions)
    }
  } finally {
    await world.dispose()
  }
}

/** What fails is printed with its seed and path; to run it again, set HOLDFAST_REPLAY to them, with a space between. */
async function runMany(kind: Kind, numRuns: number): Promise<void> {
  const [seed, path] = process.env.HOLDFAST_REPLAY?.split(' ') ?? []
  const replay = seed === undefined || path === undefined ? {} : { seed: Number(seed), path, endOnFailure: true }
  const rows = fc.array(steps, { minLength: 5, maxLength: 30, size: 'max' })
  await fc.assert(
    fc.asyncProperty(rows, (row) => run(kind, row)),
    { numRuns, endOnFailure: process.env.HOLDFAST_RUNS !== undefined, ...replay },
  )
}

/** Where the project says so, this suite runs on PostgreSQL. */
const SHARED = process.env.HOLDFAST_TEST_STORE === 'postgres' ? 'postgres' : 'memory'

test(`in ${SHARED}: in every order of events, a message is archived once, extracted once, and always in reach`, () =>
  runMany(SHARED, Number(process.env.HOLDFAST_RUNS ?? 10)))

test('in a directory: in every order of events, a message is archived once, extracted once, and always in reach', () =>
  runMany('files', Number(process.env.HOLDFAST_RUNS ?? 4)))
