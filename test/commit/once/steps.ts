/** What may happen, in any order: each step is done to the store and to the naive sessions, and says what it was answered. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { HoldfastError } from '../../../src/errors.ts'
import { Handle } from '../../../src/store/handle.ts'
import type { KeepOptions } from '../../../src/store/lifecycle/keep-options.ts'
import type { Session } from '../../../src/store/session.ts'
import { StubModel } from '../stub-model.ts'
import type { NaiveSession } from './naive.ts'
import type { World } from './world.ts'

export interface Scene {
  readonly world: World
  readonly sessions: NaiveSession[]
  /** Of messages and keys. */
  made: number
}

interface Where {
  readonly via: number
  /** Which of the sessions, counted around. */
  readonly which: number
}

export type Step = Where &
  (
    | { readonly kind: 'append'; readonly size: number; readonly parent: number | undefined }
    | { readonly kind: 'append again' | 'revert'; readonly message: number }
    | { readonly kind: 'fork'; readonly message: number | undefined }
    | { readonly kind: 'commit'; readonly retention: KeepOptions; readonly repeat: boolean }
    | { readonly kind: 'race'; readonly retentions: readonly KeepOptions[]; readonly works: boolean }
    | { readonly kind: 'cancel' | 'retry'; readonly task: number }
    | { readonly kind: 'awake'; readonly answers: boolean }
    | { readonly kind: 'undo' | 'work' | 'two work' | 'fail' | 'crash' | 'reopen' | 'complete' }
  )

const FORKS = 4
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined, freq: 1 })
const where = { via: fc.nat(1), which: fc.nat(FORKS) }
const message = fc.nat(15)
const retention = fc.oneof(
  { weight: 2, arbitrary: fc.constant<KeepOptions>({}) },
  { weight: 2, arbitrary: fc.record<KeepOptions>({ keep: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record<KeepOptions>({ keepTurns: fc.nat(2) }) },
)
const plain = (kind: 'undo' | 'work' | 'two work' | 'fail' | 'crash' | 'reopen' | 'complete'): fc.Arbitrary<Step> =>
  fc.record({ ...where, kind: fc.constant(kind) })

export const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ ...where, kind: fc.constant('append' as const), size: fc.integer({ min: 1, max: 3 }), parent: maybe(message) }),
  },
  { weight: 1, arbitrary: fc.record({ ...where, kind: fc.constant('append again' as const), message }) },
  { weight: 3, arbitrary: fc.record({ ...where, kind: fc.constant('revert' as const), message }) },
  { weight: 2, arbitrary: fc.record({ ...where, kind: fc.constant('fork' as const), message: maybe(message) }) },
  { weight: 6, arbitrary: fc.record({ ...where, kind: fc.constant('commit' as const), retention, repeat: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...where,
      kind: fc.constant('race' as const),
      retentions: fc.array(retention, { minLength: 2, maxLength: 3 }),
      works: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...where, kind: fc.constantFrom('cancel' as const, 'retry' as const), task: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ ...where, kind: fc.constant('awake' as const), answers: fc.boolean() }) },
  ...(['undo', 'work', 'two work', 'fail', 'crash', 'reopen', 'complete'] as const).map((kind) => ({ weight: 1, arbitrary: plain(kind) })),
)

/** Does it, and tells which session may have changed. */
export async function perform(scene: Scene, step: Step): Promise<NaiveSession> {
  const { world } = scene
  const naive = scene.sessions[step.which % scene.sessions.length] as NaiveSession
  const session = world.store(step.via).session<object>(naive.id)
  switch (step.kind) {
    case 'append':
      await append(scene, naive, session, step.size, step.parent)
      break
    case 'append again': {
      const id = pick(naive, step.message)
      if (id !== undefined) expect(await session.append(messageOf(id))).toMatchObject({ duplicate: true, ids: [id] })
      break
    }
    case 'revert': {
      const id = pick(naive, step.message)
      if (id === undefined) break
      await session.revert({ message: id })
      naive.move(id)
      break
    }
    case 'undo':
      if (naive.undo()) await session.undo()
      break
    case 'fork': {
      if (scene.sessions.length > FORKS || naive.ids.length === 0) break
      const at = step.message === undefined ? undefined : pick(naive, step.message)
      const id = `fork ${scene.sessions.length}`
      await session.fork({ id, ...(at === undefined ? {} : { at }) })
      scene.sessions.push(naive.fork(id, at))
      break
    }
    case 'commit':
      await commit(scene, naive, step.via, step.retention, step.repeat)
      break
    case 'race': {
      const commits = step.retentions.map(async (one, via) => world.store(via).session<object>(naive.id).commit(one))
      const work = step.works ? [world.work([new StubModel()])] : []
      await Promise.all([...commits, append(scene, naive, session, 2, undefined), ...work])
      break
    }
    case 'cancel':
    case 'retry': {
      const tasks = await world.store(step.via).tasks({ session: naive.id })
      const task = tasks[step.task % Math.max(tasks.length, 1)]
      if (task !== undefined) await tolerant((await world.store(step.via).task(task.id))[step.kind]())
      break
    }
    case 'complete':
      await complete(scene, naive, step.via)
      break
    case 'work':
      await world.work([new StubModel()])
      break
    case 'two work':
      await world.work([new StubModel(), new StubModel()])
      break
    case 'fail':
      await world.work([new StubModel({ manual: ({ fail }) => fail(new Error('no JSON')) })], { attempts: 2 })
      break
    case 'crash':
      await world.crash()
      break
    case 'awake':
      await world.awake(step.answers)
      break
    case 'reopen':
      await world.reopen(step.via)
      break
  }
  return naive
}

async function append(
  scene: Scene,
  naive: NaiveSession,
  session: Session<object>,
  size: number,
  parent: number | undefined,
): Promise<void> {
  const ids = Array.from({ length: size }, () => `m${scene.made++}`)
  const behind = parent === undefined ? undefined : pick(naive, parent)
  await session.append(ids.map(messageOf), behind === undefined ? {} : { parent: behind })
  naive.append(ids, behind)
}

/** Every third one is the user's, so that there are turns. */
function messageOf(id: string): object {
  return { id, role: Number.parseInt(id.slice(1), 10) % 3 === 0 ? 'user' : 'assistant', content: `text of ${id}` }
}

/** Commits, perhaps twice under one key, and looks at what is live then. */
async function commit({ world, made }: Scene, naive: NaiveSession, via: number, retention: KeepOptions, repeat: boolean): Promise<void> {
  if (naive.ids.length === 0) return
  const options = repeat ? { ...retention, key: `commit ${made}` } : retention
  const session = world.store(via).session<object>(naive.id)
  const before = await liveIn(session)
  const first = await tolerant(session.commit(options))
  if (first === undefined) return
  const after = await liveIn(session)
  expect(before.slice(before.length - after.length), 'what stays live is the newest').toEqual(after)
  if (retention.keepTurns === undefined) expect(after.length).toBe(Math.min(before.length, retention.keep ?? 0))
  if (first.status === 'skipped') expect(after).toEqual(before)
  else if (!first.duplicate) expect(after.length).toBeLessThan(before.length)
  if (!repeat || first.status === 'skipped') return
  const second = await world
    .store(via + 1)
    .session<object>(naive.id)
    .commit(options)
  expect(second).toMatchObject({ status: 'accepted', archive: first.archive, duplicate: true })
  expect(second.status === 'accepted' && second.task.id).toBe(first.task.id)
  expect(await liveIn(session)).toEqual(after)
}

/** Once a task is completed, a commit in another process takes none of its messages. */
async function complete({ world }: Scene, naive: NaiveSession, via: number): Promise<void> {
  if (naive.ids.length === 0) return
  const session = world.store(via).session<object>(naive.id)
  const committed = await session.commit()
  if (committed.status === 'skipped') return
  const [done] = await Promise.all([committed.task.completed(), world.work([new StubModel()])])
  expect(done.status).toBe('completed')
  const other = world.store(via + 1).session<object>(naive.id)
  expect(await other.commit()).toEqual({ status: 'skipped', reason: 'no_messages' })
  const { takes } = (await new Handle(world.store(via + 1).parts, naive.id).state()).archives.at(-1) ?? { takes: [] }
  expect(takes.length === 0 || done.memories.length > 0).toBe(true)
}

async function liveIn(session: Session<object>): Promise<string[]> {
  return (await session.messages({ limit: 1000 })).messages.map(({ id }) => id)
}

function pick(naive: NaiveSession, index: number): string | undefined {
  return naive.ids[index % Math.max(naive.ids.length, 1)]
}

/** A refusal is an answer too. */
async function tolerant<T>(told: Promise<T>): Promise<T | undefined> {
  try {
    return await told
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'CONFLICT') return undefined
    throw error
  }
}
