/** A command of the model tests: what it was made from can be printed, and what it does is done to both. */
import type fc from 'fast-check'
import { expect } from 'vitest'
import type { WriteOptions, Written } from '../../src/store/handle.ts'
import { outcomeOf } from './compare.ts'
import type { Naive, NaiveSession } from './naive.ts'
import type { Real } from './real.ts'

export const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const ABSENT_VERSION = '0-00000000'

export type Step = fc.AsyncCommand<Naive, Real, true>

/** Makes a kind of step from what it does with its arguments. */
export function kind<A extends object>(name: string, run: (args: A, naive: Naive, real: Real) => Promise<void>): (args: A) => Step {
  return (args) => ({
    check: async () => true,
    run: async (naive, real) => {
      naive.history.push((changed) => run({ ...args, ...changed }, naive, real))
      await run(args, naive, real)
    },
    toString: () => `${name}(${JSON.stringify(args)})`,
  })
}

interface Retry {
  /** Which of the last steps. */
  readonly back: number
  /** What is otherwise than the first time: the store, the session, the expected version. */
  readonly changed: object
}

/** A call once more, as a client makes it that was not told what came of the first; or the same call to another session. */
export function retry({ back, changed }: Retry): Step {
  return {
    check: async () => true,
    run: async (naive) => {
      await naive.history.at(-1 - (back % Math.max(naive.history.length, 1)))?.(changed)
    },
    toString: () => `retry(${JSON.stringify({ back, changed })})`,
  }
}

/** Which session, through which of the two stores. */
export interface Where {
  readonly via: number
  readonly id: string
}

/** On what terms. */
export interface Terms {
  readonly key?: string | undefined
  readonly expect?: 'right' | 'wrong' | undefined
}

export function optionsOf(model: NaiveSession | undefined, { key, expect: expected }: Terms): WriteOptions {
  const version = expected === 'wrong' ? '17-deadbeef' : (model?.version ?? ABSENT_VERSION)
  return { ...(key === undefined ? {} : { key }), ...(expected === undefined ? {} : { expect: version }) }
}

/** What the terms alone decide: a repeated key comes before everything else. */
export function repeatOf(model: NaiveSession | undefined, key: string | undefined, body: string): 'first' | 'duplicate' | 'CONFLICT' {
  const call = key === undefined ? undefined : model?.calls.get(key)
  if (call === undefined) return 'first'
  return call.body === body ? 'duplicate' : 'CONFLICT'
}

interface Change {
  readonly operation: string
  readonly body: unknown
  readonly terms: Terms
  /** Why it is refused, if the session is there and the terms hold. */
  readonly refusal?: string | undefined
  /** Nothing is written without a key, because nothing would change. */
  readonly idle?: boolean
  readonly carryOut: (model: NaiveSession) => void
  /** Usage does not change the version. */
  readonly background?: boolean
}

/** A change of a session that must be there: the order in which conditions are looked at is the same for all of them. */
export async function change(naive: Naive, id: string, told: Promise<Written>, wanted: Change): Promise<void> {
  const { operation, terms, refusal, carryOut, background = false, idle = false } = wanted
  const model = naive.sessions.get(id)
  const body = JSON.stringify([operation, wanted.body])
  const outcome = await outcomeOf(told)
  const repeat = repeatOf(model, terms.key, body)
  if (repeat === 'CONFLICT') return expect(outcome).toEqual({ code: 'CONFLICT' })
  if (repeat === 'duplicate') return expect(outcome).toMatchObject({ value: { duplicate: true } })
  if (terms.expect === 'wrong') return expect(outcome).toEqual({ code: 'CONFLICT' })
  if (model === undefined) return expect(outcome).toEqual({ code: 'NOT_FOUND' })
  if (model.status === 'deleted') return expect(outcome).toEqual({ code: 'CONFLICT' })
  if (refusal !== undefined) return expect(outcome).toEqual({ code: refusal })
  expect(outcome).toMatchObject({ value: { duplicate: false } })
  if (outcome.code !== undefined) return
  const { version } = outcome.value
  if (background || (idle && terms.key === undefined)) expect(version).toBe(model.version)
  else expect(version).not.toBe(model.version)
  model.version = version
  if (terms.key !== undefined) model.calls.set(terms.key, { body, nodes: [] })
  if (!idle) carryOut(model)
}
