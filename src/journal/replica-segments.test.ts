import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../engine/clock.ts'
import { systemIds } from '../engine/ids.ts'
import type { Journal } from '../engine/port.ts'
import { openMemoryEngine } from '../engines/memory/engine.ts'
import { HoldfastError } from '../errors.ts'
import { hashKey } from '../record/key-hash.ts'
import type { Operation } from '../record/operation.ts'
import type { JsonObject, RecordType } from '../record/record.ts'
import { history } from './history.ts'
import type { Reducer } from './reducer.ts'
import { Replica } from './replica.ts'

interface Kept {
  readonly count: number
  readonly last: string
}

const reducer: Reducer<Kept> = {
  initial: { count: 0, last: '' },
  apply: (kept, { record }) => (record.type === 'segment.sealed' ? kept : { count: kept.count + 1, last: String(record.text) }),
  checkpoint: (kept) => ({ ...kept }),
  restore: (checkpoint: JsonObject) => checkpoint as unknown as Kept,
  keysOf: ({ record, at, end, crc }) =>
    typeof record.text === 'string'
      ? [{ key: hashKey('operation', record.text), at, length: end - at, crc, index: 0, digest: '0'.repeat(32) }]
      : [],
  keysFrom: () => 0,
}

type Answer = 'written' | 'known'

function write(text: string, type: RecordType = 'messages.appended'): Operation<Kept, Answer> {
  const key = hashKey('operation', text)
  return {
    keys: [key],
    decide: (_, known) =>
      known(key) === undefined ? { write: { type, payload: { text } }, answer: () => 'written' } : { answer: 'known' },
  }
}

let journal: Journal
/** Called before each call of the journal; what it throws is what the caller gets. */
let before: (call: string) => void | Promise<void>
/** The segments whose keys were handed over, with the positions of their records. */
let remembered: Map<number, number[]>

beforeEach(() => {
  const engine = openMemoryEngine({ keysOf: reducer.keysOf })
  const inner = engine.journal(engine.name('space', 'session'))
  before = () => undefined
  remembered = new Map()
  const call = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    await before(name)
    return run()
  }
  journal = {
    name: inner.name,
    segments: () => call('segments', () => inner.segments()),
    read: (segment, from, limit) => call('read', () => inner.read(segment, from, limit)),
    append: (segment, at, group, options) => call('append', () => inner.append(segment, at, group, options)),
    sync: (segment) => call('sync', () => inner.sync(segment)),
    roll: (first, preamble) => call('roll', () => inner.roll(first, preamble)),
    lookup: (keys, from, before) => call('lookup', () => inner.lookup(keys, from, before)),
    storeKeys: (segment, _, keys) =>
      void remembered.set(
        segment,
        [...keys.values()].map(({ at }) => at),
      ),
    overwrite: (segment, at, was, line) => inner.overwrite(segment, at, was, line),
    purge: (before) => call('purge', () => inner.purge(before)),
    close: () => inner.close(),
  }
})

function replica(segmentBytes = 600): Replica<Kept> {
  return new Replica({ journal, reducer, clock: systemClock, ids: systemIds, limits: { segmentBytes } })
}

const numbers = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => String(from + n))

async function texts(): Promise<string[]> {
  const found: string[] = []
  for await (const { verdict } of history(journal))
    if (verdict.kind === 'counted' && verdict.record.type !== 'segment.sealed') found.push(String(verdict.record.text))
  return found
}

describe('a segment that is full', () => {
  test('is sealed with the group that filled it, and the next one is made when somebody writes', async () => {
    const one = replica()
    for (const text of numbers(20)) await one.submit(write(text))
    const segments = await journal.segments()
    expect(segments.length).toBeGreaterThan(3)
    expect(await texts()).toEqual(numbers(20))
    expect((await replica().read()).state).toEqual({ count: 20, last: '19' })
  })

  test('has no say in what is known: keys are found across all of them, by every process', async () => {
    const one = replica()
    for (const text of numbers(20)) await one.submit(write(text))
    for (const text of numbers(20)) {
      expect(await one.submit(write(text))).toBe('known')
      expect(await replica().submit(write(text))).toBe('known')
    }
    expect(await texts()).toHaveLength(20)
  })

  test('is looked up once for each segment, and not at all without keys', async () => {
    const one = replica()
    for (const text of numbers(20)) await one.submit(write(text))
    let lookups = 0
    before = (name) => {
      if (name === 'lookup') lookups++
    }
    await Promise.all(numbers(5, 100).map((text) => one.submit(write(text))))
    expect(lookups).toBeLessThanOrEqual(2)
    lookups = 0
    await one.submit({ decide: () => ({ write: { type: 'messages.appended', payload: {} }, answer: () => true }) })
    await one.read()
    expect(lookups).toBe(0)
  })

  test('is told to the engine with all its keys, by whoever has read it, so that it need not be read again', async () => {
    const [writer, reader] = [replica(), replica()]
    await reader.read()
    const places: number[] = []
    for (const text of numbers(30)) {
      places.push(
        await writer.submit({ decide: () => ({ write: { type: 'messages.appended', payload: { text } }, answer: ({ at }) => at }) }),
      )
    }
    const segments = await journal.segments()
    const active = segments.at(-1) as number
    for (const process of [writer, reader]) {
      await process.read()
      expect([...remembered.keys()]).toEqual(segments.slice(0, -1))
      expect([...remembered.values()].flat()).toEqual(places.filter((at) => at < active))
      remembered.clear()
    }
  })

  test('is not told of if it carries lines: a process that counted them before has their keys elsewhere', async () => {
    const one = replica(600)
    await one.submit(write('a'))
    let failed = false
    before = (name) => {
      if (name !== 'append' || failed) return
      failed = true
      throw new HoldfastError('UNAVAILABLE', 'Lost.', { outcome: 'unknown', details: { reason: 'sync failed', segment: 0, from: 0 } })
    }
    await expect(one.submit(write('b'))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await one.idle()
    const [, carrying] = await journal.segments()
    for (const text of numbers(30)) await one.submit(write(text))
    expect((await journal.segments()).length).toBeGreaterThan(3)
    expect(remembered.has(0)).toBe(true)
    expect(remembered.has(carrying as number)).toBe(false)
  })

  test('is followed by every process that reads, however far behind', async () => {
    const [writer, reader] = [replica(), replica()]
    await reader.read()
    for (const text of numbers(30)) await writer.submit(write(text))
    expect((await reader.read()).state).toEqual({ count: 30, last: '29' })
    await reader.submit(write('30'))
    expect((await writer.read()).state).toEqual({ count: 31, last: '30' })
  })

  test('is not rolled by somebody who only reads', async () => {
    const one = replica(1)
    await one.submit(write('a'))
    expect(await replica().read()).toMatchObject({ state: { count: 1 } })
    expect(await journal.segments()).toEqual([0])
    await one.submit(write('b'))
    expect(await journal.segments()).toHaveLength(2)
  })

  test('grows with its checkpoint, so that a large state is not written again and again', async () => {
    const large: Reducer<Kept> = { ...reducer, checkpoint: (kept) => ({ ...kept, ballast: 'x'.repeat(2_000) }) }
    const one = new Replica({ journal, reducer: large, clock: systemClock, ids: systemIds, limits: { segmentBytes: 600 } })
    for (const text of numbers(60)) await one.submit(write(text))
    const segments = await journal.segments()
    const lengths = segments.slice(1).map((first, i) => first - (segments[i] as number))
    expect(lengths[0]).toBeLessThan(1_500)
    for (const length of lengths.slice(1)) expect(length).toBeGreaterThan(8_000)
  })
})

describe('an operation that must stand first in a segment', () => {
  const create: Operation<Kept, Answer> = {
    decide: () => ({ opens: 'new incarnation', write: { type: 'session.created', payload: { text: 'created' } }, answer: () => 'written' }),
  }

  test('seals the one that is written to, and stands behind its checkpoint', async () => {
    const one = replica(1_000_000)
    await one.submit(write('a'))
    await one.submit(create)
    const [, second] = await journal.segments()
    const chunk = await journal.read(second as number, second as number)
    const types = chunk?.lines.map((line) => /"type":"([^"]+)"/.exec(Buffer.from(line.bytes).toString())?.[1]).filter(Boolean)
    expect(types).toEqual(['checkpoint', 'session.created', 'session.created'])
  })

  test('shares no group with what was submitted before it, and all of it is written', async () => {
    const one = replica(1_000_000)
    expect(await Promise.all([write('a'), create, write('b')].map((operation) => one.submit(operation)))).toEqual([
      'written',
      'written',
      'written',
    ])
    expect(await texts()).toEqual(['a', 'created', 'b'])
    expect(await journal.segments()).toHaveLength(2)
  })

  test('needs no seal where nothing was written yet', async () => {
    await replica().submit(create)
    expect(await journal.segments()).toEqual([0])
  })

  test('may be one that begins anew, so that what is in front of it can be purged', async () => {
    const one = replica(1_000_000)
    for (const text of numbers(5)) await one.submit(write(text))
    const first = await one.beginSegment()
    expect(await journal.segments()).toEqual([0, first])
    expect(await one.beginSegment()).toBe(first)
    await journal.purge(first)
    expect((await replica().read()).state).toEqual({ count: 5, last: '4' })
    await one.submit(write('after'))
    expect((await replica().read()).state).toEqual({ count: 6, last: 'after' })
  })
})

describe('a failure on the way', () => {
  const broken = new HoldfastError('UNREADABLE', 'Not now.')

  test.each(['segments', 'read', 'lookup'])('of %s is told, writes nothing, and is over when it is over', async (failing) => {
    const one = replica()
    for (const text of numbers(10)) await one.submit(write(text))
    await one.read()
    const fresh = replica()
    before = (name) => {
      if (name === failing) throw broken
    }
    await expect(fresh.submit(write('x'))).rejects.toMatchObject({ code: 'UNREADABLE', outcome: 'none' })
    before = () => undefined
    expect(await texts()).toEqual(numbers(10))
    await fresh.submit(write('x'))
    expect(await texts()).toEqual([...numbers(10), 'x'])
  })

  test('of a roll is told, and the next writer makes the segment', async () => {
    const one = replica(1)
    await one.submit(write('a'))
    before = (name) => {
      if (name === 'roll') throw new HoldfastError('NO_SPACE', 'Full.')
    }
    await expect(one.submit(write('b'))).rejects.toMatchObject({ code: 'NO_SPACE' })
    expect((await one.read()).state).toEqual({ count: 1, last: 'a' })
    before = () => undefined
    expect(await replica().submit(write('c'))).toBe('written')
    expect(await one.submit(write('b'))).toBe('written')
    expect(await texts()).toEqual(['a', 'c', 'b'])
  })
})
