import { beforeEach, describe, expect, test } from 'vitest'
import type { Clock } from '../engine/clock.ts'
import { systemIds } from '../engine/ids.ts'
import type { Appended, AppendOptions, Journal } from '../engine/port.ts'
import { openMemoryEngine } from '../engines/memory/engine.ts'
import { HoldfastError } from '../errors.ts'
import { hashKey } from '../record/key-hash.ts'
import { LIMITS } from '../record/limits.ts'
import type { Operation } from '../record/operation.ts'
import type { JsonObject } from '../record/record.ts'
import { history } from './history.ts'
import type { Reducer } from './reducer.ts'
import { Replica } from './replica.ts'

type Texts = readonly string[]

/** What was written, in order. A record with a `key` can be found by it. */
const reducer: Reducer<Texts> = {
  initial: [],
  apply: (texts, { record }) => (record.type === 'segment.sealed' ? texts : [...texts, String(record.text).slice(0, 20)]),
  checkpoint: (texts) => ({ texts }),
  restore: ({ texts }: JsonObject) => texts as Texts,
  keysOf: ({ record, at, end, crc }) =>
    typeof record.key === 'string'
      ? [{ key: hashKey('operation', record.key), at, length: end - at, crc, index: 0, digest: '0'.repeat(32) }]
      : [],
  keysFrom: () => 0,
}

/** Writes a text; under a key, only once. Answers with what its writer had seen. */
function write(text: string, key?: string): Operation<Texts, { seen: Texts; at: number; duplicate: boolean }> {
  const payload = key === undefined ? { text } : { text, key }
  const hash = hashKey('operation', key ?? '')
  return {
    ...(key === undefined ? {} : { keys: [hash] }),
    decide: (seen, known) => {
      const first = key === undefined ? undefined : known(hash)
      if (first !== undefined) return { answer: { seen, at: first.at, duplicate: true } }
      return { write: { type: 'messages.appended', payload }, answer: ({ at }) => ({ seen, at, duplicate: false }) }
    },
  }
}

const refusal = new HoldfastError('CONFLICT', 'Somebody was first.')
const writeIf = (text: string, count: number): Operation<Texts, string> => ({
  decide: (seen) =>
    seen.length === count ? { write: { type: 'messages.appended', payload: { text } }, answer: () => text } : { refuse: refusal },
})
const look: Operation<Texts, Texts> = { readOnly: true, decide: (seen) => ({ answer: seen }) }

interface Written {
  readonly bytes: number
  readonly lines: number
  readonly options: AppendOptions
}

function countRecords(group: Uint8Array): number {
  return Buffer.from(group)
    .toString('latin1')
    .split('\n')
    .filter((line) => line.startsWith('{')).length
}

let inner: Journal
let written: Written[]
let slept: number
/** What happens in place of an append, where a test wants that. */
let instead: ((append: () => Promise<Appended>, options: AppendOptions) => Promise<Appended>) | undefined
const clock: Clock = { now: () => 1_750_000_000_000, monotonicMs: () => 0, sleep: async () => void slept++ }

beforeEach(() => {
  const engine = openMemoryEngine({ keysOf: reducer.keysOf })
  inner = engine.journal(engine.name('space', 'session'))
  written = []
  slept = 0
  instead = undefined
})

function replica(limits: ConstructorParameters<typeof Replica<Texts>>[0]['limits'] = {}): Replica<Texts> {
  const journal: Journal = {
    name: inner.name,
    segments: () => inner.segments(),
    read: (segment, from, limit) => inner.read(segment, from, limit),
    sync: (segment) => inner.sync(segment),
    roll: (first, preamble) => inner.roll(first, preamble),
    lookup: (keys, from, before) => inner.lookup(keys, from, before),
    storeKeys: (segment, end, keys) => inner.storeKeys(segment, end, keys),
    overwrite: (segment, at, was, line) => inner.overwrite(segment, at, was, line),
    purge: (before) => inner.purge(before),
    close: () => inner.close(),
    append: (segment, at, group, options = {}) => {
      const append = async (): Promise<Appended> => {
        const appended = await inner.append(segment, at, group, options)
        if (!appended.moved) written.push({ bytes: group.length, lines: countRecords(group), options })
        return appended
      }
      return instead === undefined ? append() : instead(append, options)
    },
  }
  return new Replica({ journal, reducer, clock, ids: systemIds, limits })
}

const stateOf = async (): Promise<Texts> => (await replica().read()).state

describe('a group', () => {
  test('is what was submitted at once: one write, in that order, each decided on those before it', async () => {
    const one = replica()
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((text) => one.submit(write(text))))
    expect(written).toMatchObject([{ lines: 4 }])
    expect(answers.map(({ seen }) => seen.join(''))).toEqual(['', 'a', 'ab', 'abc'])
    expect(answers.map(({ at }) => at)).toEqual([...answers.map(({ at }) => at)].sort((a, b) => a - b))
    expect(await stateOf()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('is answered record by record, with the id and the place of each', async () => {
    const placed = (text: string): Operation<Texts, object> => ({
      decide: () => ({ write: { type: 'messages.appended', payload: { text } }, answer: (written) => written }),
    })
    const one = replica()
    const answers = await Promise.all(['a', 'b'].map((text) => one.submit(placed(text))))
    const counted: object[] = []
    for await (const { verdict } of history(inner))
      if (verdict.kind === 'counted') counted.push({ id: verdict.record.id, at: verdict.at, end: verdict.end, crc: verdict.crc })
    expect(answers).toEqual(counted)
  })

  test('is also what came while another was being written', async () => {
    const one = replica()
    const rest: Promise<unknown>[] = []
    instead = (append) => {
      instead = undefined
      for (const text of ['b', 'c', 'd']) rest.push(one.submit(write(text)))
      return append()
    }
    await one.submit(write('a'))
    await Promise.all(rest)
    expect(written.map(({ lines }) => lines)).toEqual([1, 3])
    expect(await stateOf()).toEqual(['a', 'b', 'c', 'd'])
  })

  test('has one record for a key that stands in it twice, and both callers are told the same', async () => {
    const one = replica()
    const [first, second, other] = await Promise.all(
      [write('a', 'k'), write('again', 'k'), write('b', 'l')].map((operation) => one.submit(operation)),
    )
    expect(first).toMatchObject({ duplicate: false })
    expect(second).toMatchObject({ duplicate: true, at: first?.at, seen: ['a'] })
    expect(other).toMatchObject({ duplicate: false })
    expect(written).toMatchObject([{ lines: 2 }])
    expect(await one.submit(write('later', 'k'))).toMatchObject({ duplicate: true, at: first?.at })
    expect(await replica().submit(write('elsewhere', 'k'))).toMatchObject({ duplicate: true, at: first?.at })
    expect(await stateOf()).toEqual(['a', 'b'])
  })

  test('has room for refusals and reads, which are decided where they stand in the row', async () => {
    const one = replica()
    const results = await Promise.allSettled(
      [writeIf('a', 0), look, writeIf('lost', 0), writeIf('b', 1), look].map((operation) => one.submit<unknown>(operation)),
    )
    expect(results).toEqual([
      { status: 'fulfilled', value: 'a' },
      { status: 'fulfilled', value: ['a'] },
      { status: 'rejected', reason: refusal },
      { status: 'fulfilled', value: 'b' },
      { status: 'fulfilled', value: ['a', 'b'] },
    ])
    expect(written).toMatchObject([{ lines: 2 }])
  })

  test('is closed once it holds enough, and what is left goes into the next', async () => {
    const one = replica({ groupTargetBytes: 1_000 })
    await Promise.all(Array.from({ length: 20 }, (_, n) => one.submit(write(`${n} ${'x'.repeat(300)}`))))
    expect(written.length).toBeGreaterThan(3)
    for (const { bytes } of written) expect(bytes).toBeLessThan(2_000)
    expect((await stateOf()).map((text) => Number.parseInt(text, 10))).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })

  test('never passes the limit, also where a record as large as there may be stands beside small ones', async () => {
    const one = replica()
    const huge = 'h'.repeat(LIMITS.recordBytes - 650)
    const answers = await Promise.all(['a', 'b', 'c', huge, 'd'].map((text) => one.submit(write(text))))
    expect(answers.map(({ seen }) => seen.length)).toEqual([0, 1, 2, 3, 4])
    for (const { bytes } of written) expect(bytes).toBeLessThanOrEqual(LIMITS.groupBytes)
    expect(await stateOf()).toEqual(['a', 'b', 'c', 'h'.repeat(20), 'd'])
  })
})

describe('a mistake of one caller', () => {
  test('that is thrown while deciding is told to that caller and stops no other', async () => {
    const one = replica()
    const mistake = new RangeError('A mistake.')
    const wrong: Operation<Texts, string> = {
      decide: () => {
        throw mistake
      },
    }
    const results = await Promise.allSettled([write('a'), wrong, write('b')].map((operation) => one.submit<unknown>(operation)))
    expect(results).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: mistake },
      { status: 'fulfilled', value: { seen: ['a'] } },
    ])
    expect(await stateOf()).toEqual(['a', 'b'])
  })

  test.each([
    ['a field that belongs to the line', { v: 1 }],
    ['what JSON cannot say', { n: 1n } as unknown as JsonObject],
  ])('whose payload has %s is told to that caller and stops no other', async (_, payload) => {
    const one = replica()
    const wrong: Operation<Texts, number> = { decide: () => ({ write: { type: 'messages.appended', payload }, answer: ({ at }) => at }) }
    const results = await Promise.allSettled([write('a'), wrong, write('b')].map((operation) => one.submit<unknown>(operation)))
    expect(results).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: expect.any(TypeError) }, { status: 'fulfilled' }])
    expect(await stateOf()).toEqual(['a', 'b'])
  })

  test('who wants to write too much is told so before anything of it is written', async () => {
    const one = replica()
    const results = await Promise.allSettled(['a', 'x'.repeat(LIMITS.recordBytes), 'b'].map((text) => one.submit(write(text))))
    expect(results).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'PAYLOAD_TOO_LARGE', outcome: 'none' } },
      { status: 'fulfilled' },
    ])
    expect(written).toMatchObject([{ lines: 2 }])
    expect(await stateOf()).toEqual(['a', 'b'])
  })
})

describe('the queue', () => {
  test('has a limit, which is told at once, and is free again when it was worked off', async () => {
    const one = replica({ queueLength: 3 })
    const results = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((text) => one.submit(write(text))))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'])
    expect(results[3]).toMatchObject({ reason: { code: 'RESOURCE_EXHAUSTED', outcome: 'none', retryable: true, details: { limit: 3 } } })
    await one.submit(write('f'))
    expect(await stateOf()).toEqual(['a', 'b', 'c', 'f'])
  })

  test('can be waited for', async () => {
    const one = replica()
    const done: string[] = []
    void one.submit(write('a')).then(() => done.push('a'))
    await one.idle()
    await undefined
    expect(done).toEqual(['a'])
    await one.idle()
  })
})

describe('a lost race', () => {
  test('is decided again on what the other wrote', async () => {
    const [one, other] = [replica(), replica()]
    await Promise.all([one.read(), other.read()])
    await other.submit(write('first'))
    expect(await one.submit(write('second'))).toMatchObject({ seen: ['first'] })
    await other.submit(write('third'))
    await expect(one.submit(writeIf('lost', 2))).rejects.toBe(refusal)
    expect(await stateOf()).toEqual(['first', 'second', 'third'])
  })

  test('against a writer of the same key is a duplicate', async () => {
    const [one, other] = [replica(), replica()]
    await Promise.all([one.read(), other.read()])
    const first = await other.submit(write('mine', 'k'))
    expect(await one.submit(write('mine', 'k'))).toMatchObject({ duplicate: true, at: first.at })
    expect(await stateOf()).toEqual(['mine'])
  })

  test('of many in a row is waited out, hurried, and at last given up with nothing written', async () => {
    const one = replica({ races: 20 })
    const other = replica()
    const hurried: boolean[] = []
    instead = async (append, options) => {
      hurried.push(options.hurry === true)
      const again = instead
      instead = undefined
      await other.submit(write('other'))
      instead = again
      return append()
    }
    const failed: unknown = await one.submit(write('mine')).catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'UNAVAILABLE', outcome: 'none', retryable: true, details: { races: 21 } })
    expect(slept).toBeGreaterThan(5)
    expect(hurried).toEqual(Array.from({ length: 21 }, (_, race) => race >= LIMITS.racesBeforeHurry))
    instead = undefined
    expect(await stateOf()).not.toContain('mine')
    await one.submit(write('mine'))
    expect((await stateOf()).at(-1)).toBe('mine')
  })
})

describe('a journal that is not there', () => {
  test('has the initial state, and looking at it makes nothing', async () => {
    expect(await replica().read()).toEqual({ state: [], barrier: true })
    expect(await inner.segments()).toEqual([])
  })

  test('is made by the first record, not by a refusal', async () => {
    await expect(replica().submit(writeIf('a', 7))).rejects.toBe(refusal)
    expect(await inner.segments()).toEqual([])
    await replica().submit(write('a'))
    expect(await inner.segments()).toEqual([0])
  })
})
