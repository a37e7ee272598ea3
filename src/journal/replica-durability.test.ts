import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../engine/clock.ts'
import { systemIds } from '../engine/ids.ts'
import type { Appended, Journal } from '../engine/port.ts'
import { openMemoryEngine } from '../engines/memory/engine.ts'
import { HoldfastError } from '../errors.ts'
import type { Operation } from '../record/operation.ts'
import type { JsonObject } from '../record/record.ts'
import { history } from './history.ts'
import type { Reducer } from './reducer.ts'
import { Replica } from './replica.ts'

type Texts = readonly string[]

const reducer: Reducer<Texts> = {
  initial: [],
  apply: (texts, { record }) => (record.type === 'segment.sealed' ? texts : [...texts, String(record.text)]),
  checkpoint: (texts) => ({ texts }),
  restore: ({ texts }: JsonObject) => texts as Texts,
  keysOf: () => [],
  keysFrom: () => 0,
}

const write = (text: string): Operation<Texts, string> => ({
  decide: () => ({ write: { type: 'messages.appended', payload: { text } }, answer: () => text }),
})
const refusal = new HoldfastError('CONFLICT', 'No.')
const refuse: Operation<Texts, never> = { decide: () => ({ refuse: refusal }) }
const duplicate: Operation<Texts, string> = { decide: () => ({ answer: 'the first outcome' }) }
const look: Operation<Texts, Texts> = { readOnly: true, decide: (texts) => ({ answer: texts }) }

/** A sync that ends when the test says so. */
class Gate {
  readonly passed: Promise<void>
  open: () => void = () => undefined
  /** Resolves when somebody waits at it. */
  readonly reached: Promise<void>
  #arrive: () => void = () => undefined

  constructor() {
    this.passed = new Promise((resolve) => {
      this.open = resolve
    })
    this.reached = new Promise((resolve) => {
      this.#arrive = resolve
    })
  }

  wait(): Promise<void> {
    this.#arrive()
    return this.passed
  }
}

let inner: Journal
/** What the journal of the replica under test does otherwise than a plain one. */
let over: Partial<Journal>
beforeEach(() => {
  const engine = openMemoryEngine({ keysOf: reducer.keysOf })
  inner = engine.journal(engine.name('space', 'session'))
  over = {}
})

function replica(): Replica<Texts> {
  const journal: Journal = {
    name: inner.name,
    segments: () => inner.segments(),
    read: (segment, from, limit) => inner.read(segment, from, limit),
    append: (...words) => (over.append ?? inner.append.bind(inner))(...words),
    sync: (segment) => (over.sync ?? inner.sync.bind(inner))(segment),
    announce: async () => over.announce?.(),
    roll: (...words) => (over.roll ?? inner.roll.bind(inner))(...words),
    lookup: (keys, from, before) => inner.lookup(keys, from, before),
    storeKeys: (segment, end, keys) => inner.storeKeys(segment, end, keys),
    overwrite: (segment, at, was, line) => inner.overwrite(segment, at, was, line),
    purge: (before) => inner.purge(before),
    close: () => inner.close(),
  }
  return new Replica({ journal, reducer, clock: systemClock, ids: systemIds })
}

/** A plain replica of the same journal, as another process has it. */
const elsewhere = (): Replica<Texts> => new Replica({ journal: inner, reducer, clock: systemClock, ids: systemIds })

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Which of these promises are settled by now, after everything that could go on went on. */
async function settled(promises: readonly Promise<unknown>[]): Promise<boolean[]> {
  const done = promises.map(() => false)
  for (const [index, promise] of promises.entries()) {
    const mark = (): void => {
      done[index] = true
    }
    promise.then(mark, mark)
  }
  for (let i = 0; i < 5; i++) await turn()
  return done
}

describe('nothing is answered before it is durable', () => {
  test('neither what was written, nor a refusal, a duplicate or a read in the same group', async () => {
    const gate = new Gate()
    over.append = async (...words) => {
      const appended = await inner.append(...words)
      await gate.wait()
      return appended
    }
    const one = replica()
    const answers = [write('a'), refuse, duplicate, look].map((operation) => one.submit<unknown>(operation))
    await gate.reached
    // The bytes stand, others can read them, and yet nobody is told.
    expect((await elsewhere().read()).state).toEqual(['a'])
    expect(await settled(answers)).toEqual([false, false, false, false])
    gate.open()
    expect(await Promise.allSettled(answers)).toMatchObject([
      { value: 'a' },
      { reason: refusal },
      { value: 'the first outcome' },
      { value: ['a'] },
    ])
  })

  test('nor what rests on lines of another process', async () => {
    const one = replica()
    await one.read()
    await elsewhere().submit(write('theirs'))
    const gate = new Gate()
    over.sync = async (segment) => {
      await gate.wait()
      return inner.sync(segment)
    }
    const answers = [refuse, duplicate, look].map((operation) => one.submit<unknown>(operation))
    await gate.reached
    expect(await settled(answers)).toEqual([false, false, false])
    gate.open()
    expect(await Promise.allSettled(answers)).toMatchObject([{ reason: refusal }, { value: 'the first outcome' }, { value: ['theirs'] }])
  })

  test('and a second read of the same lines costs no sync', async () => {
    await elsewhere().submit(write('theirs'))
    let syncs = 0
    over.sync = (segment) => {
      syncs++
      return inner.sync(segment)
    }
    const one = replica()
    await one.read()
    expect(syncs).toBe(1)
    await one.read()
    expect(syncs).toBe(1)
  })

  test('where a store cannot be synced, what is read says so', async () => {
    await elsewhere().submit(write('a'))
    over.sync = async () => false
    const one = replica()
    expect(await one.read()).toEqual({ state: ['a'], barrier: false })
  })
})

test('a duplicate is answered once its record is announced: its writer may have died before that', async () => {
  await elsewhere().submit(write('theirs'))
  const gate = new Gate()
  over.announce = () => gate.wait()
  const one = replica()
  const answer = one.submit(duplicate)
  await gate.reached
  expect(await settled([answer])).toEqual([false])
  gate.open()
  expect(await answer).toBe('the first outcome')
  over.announce = () => Promise.reject(new HoldfastError('UNAVAILABLE', 'The feed cannot be written.'))
  // It was announced, and nothing was written since.
  expect(await one.submit(duplicate)).toBe('the first outcome')
  await elsewhere().submit(write('more'))
  await expect(one.submit(duplicate)).rejects.toMatchObject({ code: 'UNAVAILABLE', outcome: 'unknown' })
  await expect(one.submit(refuse)).rejects.toBe(refusal)
  expect(await one.submit(look)).toEqual(['theirs', 'more'])
})

describe('a sync that fails', () => {
  const failure = (from: number | null): HoldfastError =>
    new HoldfastError('UNAVAILABLE', 'The disk failed.', { outcome: 'unknown', details: { reason: 'sync failed', segment: 0, from } })

  async function failOnce(from: number | null): Promise<{ one: Replica<Texts>; results: PromiseSettledResult<unknown>[] }> {
    const one = replica()
    await one.submit(write('before'))
    let failed = false
    over.append = async (segment, at, group, options) => {
      const appended = await inner.append(segment, at, group, options)
      if (failed || options?.sync === false) return appended
      failed = true
      throw failure(from)
    }
    const results = await Promise.allSettled([write('a'), refuse, look, write('b')].map((operation) => one.submit<unknown>(operation)))
    // What can still be read is carried on after everybody was told.
    await one.idle()
    return { one, results }
  }

  test('is told to everybody in the group, with outcome unknown, and nothing is shown', async () => {
    const { results } = await failOnce(0)
    for (const result of results) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE', outcome: 'unknown' } })
  })

  test.each([0, null])('seals the segment from the last good sync on (%s), and the next carries every line from there', async (from) => {
    const { one } = await failOnce(from)
    await one.submit(write('after'))
    const [, second] = await inner.segments()
    const lines = (await inner.read(second as number, second as number))?.lines.map(({ bytes }) => Buffer.from(bytes).toString()) ?? []
    expect(lines.map((line) => /"text":"([^"]+)"/.exec(line)?.[1]).filter(Boolean)).toEqual(['before', 'a', 'b', 'after'])
    const verdicts: string[] = []
    for await (const { verdict } of history(inner))
      if (verdict.kind === 'counted') verdicts.push(String(verdict.record.text ?? verdict.record.why))
    expect(verdicts).toEqual(['before', 'a', 'b', 'sync failed', 'after'])
    expect((await elsewhere().read()).state).toEqual(['before', 'a', 'b', 'after'])
  })

  test('carries only what is not known to be on the disk', async () => {
    const one = replica()
    await one.submit(write('before'))
    const end = (await inner.read(0, 0))?.end as number
    over.append = async (segment, at, group, options) => {
      await inner.append(segment, at, group, options)
      if (options?.sync !== false) over = {}
      throw failure(end)
    }
    await expect(one.submit(write('a'))).rejects.toMatchObject({ outcome: 'unknown' })
    over = {}
    await one.submit(write('after'))
    const second = (await inner.segments())[1] as number
    const text = Buffer.concat(((await inner.read(second, second))?.lines ?? []).map(({ bytes }) => bytes)).toString()
    expect(text).toContain('"carries":1')
    expect(text).not.toContain('"text":"before","prev"')
  })

  test('of a read is told, and does not show what it could not keep', async () => {
    const one = replica()
    await elsewhere().submit(write('theirs'))
    over.sync = () => Promise.reject(failure(null))
    await expect(one.read()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    over = {}
    expect((await one.read()).state).toEqual(['theirs'])
    // It was carried into a new segment, which could be synced.
    expect(await inner.segments()).toHaveLength(2)
  })
})

describe('a group of which only a part stands', () => {
  /** Writes a prefix of the group and says so, as a full disk or a race inside the write would. */
  function cut(keep: (group: Uint8Array) => number, refusalOf?: HoldfastError): void {
    over.append = async (segment, at, group, options): Promise<Appended> => {
      over = {}
      const placed = keep(group)
      // What is torn is ended here, as the next lead-in would: the memory engine takes whole lines only.
      const whole = group.subarray(0, group.subarray(0, placed).lastIndexOf(0x0a) + 1)
      if (whole.length > 0) await inner.append(segment, at, whole, options)
      return { moved: false, placed, ...(refusalOf === undefined ? {} : { refusal: refusalOf }) }
    }
  }
  const full = new HoldfastError('NO_SPACE', 'Full.')
  const texts = ['a', 'b', 'c']
  /** The end of the record with this text. */
  const endOf = (group: Uint8Array, text: string): number => group.indexOf(0x0a, Buffer.from(group).indexOf(`"text":"${text}"`)) + 1

  test('is acknowledged so far, and the rest is refused, because the disk is full', async () => {
    cut((group) => endOf(group, 'a') + 10, full)
    const one = replica()
    const results = await Promise.allSettled(
      [write('a'), look, write('b'), write('c'), look].map((operation) => one.submit<unknown>(operation)),
    )
    expect(results).toMatchObject([
      { value: 'a' },
      { value: ['a'] },
      { reason: { code: 'NO_SPACE', outcome: 'none' } },
      { reason: { code: 'NO_SPACE', outcome: 'none' } },
      { value: ['a'] },
    ])
    expect((await elsewhere().read()).state).toEqual(['a'])
    await one.submit(write('d'))
    expect((await elsewhere().read()).state).toEqual(['a', 'd'])
  })

  test('is refused as a whole if not even the first record stands', async () => {
    cut(() => 0, full)
    const one = replica()
    const results = await Promise.allSettled(texts.map((text) => one.submit(write(text))))
    for (const result of results) expect(result).toMatchObject({ reason: { code: 'NO_SPACE', outcome: 'none' } })
    expect((await elsewhere().read()).state).toEqual([])
  })

  test('is finished where a race cut it: each record stands once, in order', async () => {
    cut((group) => endOf(group, 'a'))
    const one = replica()
    expect(await Promise.all(texts.map((text) => one.submit(write(text))))).toEqual(texts)
    expect((await elsewhere().read()).state).toEqual(texts)
  })
})

describe('what is of use to living processes alone', () => {
  const lease: Operation<Texts, string> = { ...write('a lease'), fleeting: true }

  test('is answered without waiting for the disk, and made durable before anybody is shown it', async () => {
    const synced: (boolean | undefined)[] = []
    over.append = (segment, at, group, options) => {
      synced.push(options?.later !== true)
      return inner.append(segment, at, group, options)
    }
    const gate = new Gate()
    const one = replica()
    await one.submit(write('a'))
    over.sync = () => gate.wait().then(() => true)
    expect(await one.submit(lease)).toBe('a lease')
    expect(await one.glance()).toEqual(['a', 'a lease'])
    const shown = one.read()
    await gate.reached
    gate.open()
    expect((await shown).state).toEqual(['a', 'a lease'])
    await one.submit(write('b'))
    expect(synced).toEqual([true, false, true])
  })

  test('is durable all the same if somebody else waits for the same write', async () => {
    const synced: boolean[] = []
    over.append = (segment, at, group, options) => {
      synced.push(options?.later !== true)
      return inner.append(segment, at, group, options)
    }
    const one = replica()
    await Promise.all([one.submit(lease), one.submit(write('a'))])
    expect(synced).toEqual([true])
  })
})

describe('a seal that says what may not be on the disk', () => {
  /** Somebody whose sync failed has sealed the segment, and died before the next one was there. */
  async function sealedAndDied(): Promise<void> {
    await elsewhere().submit(write('before'))
    const failure = new HoldfastError('UNAVAILABLE', 'The disk failed.', {
      outcome: 'unknown',
      details: { reason: 'sync failed', segment: 0, from: 0 },
    })
    over.append = async (segment, at, group, options) => {
      const appended = await inner.append(segment, at, group, options)
      if (options?.sync !== false) throw failure
      return appended
    }
    over.roll = async () => {
      throw new HoldfastError('UNAVAILABLE', 'It died.')
    }
    await expect(replica().submit(write('suspect'))).rejects.toBe(failure)
    expect(await inner.segments()).toEqual([0])
  }

  test('is not read past: a reader carries the lines before it first, and shows them then', async () => {
    await sealedAndDied()
    expect((await elsewhere().read()).state).toEqual(['before', 'suspect'])
    const segments = await inner.segments()
    expect(segments).toHaveLength(2)
    const carried: unknown[] = []
    for await (const { verdict } of history(inner, { from: segments[1] as number, barrier: false }))
      if (verdict.kind === 'counted' && verdict.carried) carried.push(verdict.record.text)
    expect(carried).toEqual(['before', 'suspect'])
  })

  test('keeps nobody from reading where nothing can be written', async () => {
    await sealedAndDied()
    expect((await replica().read()).state).toEqual(['before', 'suspect'])
  })
})
