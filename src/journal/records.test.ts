import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Journal } from '../engine/port.ts'
import { openMemoryEngine } from '../engines/memory/engine.ts'
import { encodeBody, encodeCheckpoint, Group, LEAD_IN, splitLines } from '../record/line.ts'
import { Records } from './records.ts'

/** What a segment is made of: records of so many bytes, some of which rotted where they stood. */
interface Written {
  readonly bytes: number
  readonly rotten: boolean
}

interface Made {
  readonly journal: Journal
  /** Position and text of each record, as it was written. */
  readonly records: readonly { readonly at: number; readonly text: string; readonly rotten: boolean; readonly segment: number }[]
}

/** Segments one behind the other. `carries`: each carries all lines of the one before it. */
async function make(segments: readonly (readonly Written[])[], carries: boolean): Promise<Made> {
  const journal = openMemoryEngine({ keysOf: () => [] }).journal('j')
  const records: Made['records'][number][] = []
  let [at, before]: [number, Uint8Array[]] = [0, []]
  for (const [index, rows] of segments.entries()) {
    const segment = at
    if (index > 0) {
      const checkpoint = encodeCheckpoint({ base: segment, id: 'c', at: '', prev: '', carries: carries ? before.length : 0, state: {} })
      const preamble = Buffer.concat([
        LEAD_IN,
        checkpoint,
        ...(carries ? before : []).flatMap((line) => [LEAD_IN, line, Buffer.from('\n')]),
      ])
      await journal.roll(segment, preamble)
      at += preamble.length
    }
    before = []
    const bytes: Buffer[] = []
    for (const { bytes: size, rotten } of rows) {
      const group = new Group(at, '')
      const text = `${records.length}`.padEnd(size, '.')
      const place = group.add(encodeBody({ id: `r${records.length}`, at: '', type: 'messages.appended', payload: { text } }))
      const written = group.bytes
      before.push(Buffer.from(splitLines(written, 0).lines[1]?.bytes as Uint8Array))
      if (rotten) written[30] = (written[30] as number) ^ 1
      bytes.push(written)
      records.push({ at: place.at, text, rotten, segment })
      at += written.length
    }
    if (rows.length > 0) await journal.append(segment, at - Buffer.concat(bytes).length, Buffer.concat(bytes))
  }
  return { journal, records }
}

/** The same as a database has it: whoever begins to read inside of a line is told nothing of that one. */
function inRows(journal: Journal, records: Made['records']): Journal {
  const begins = new Set(records.map(({ at }) => at))
  const read: Journal['read'] = async (...words) => {
    const chunk = await journal.read(...words)
    return chunk === undefined ? undefined : { ...chunk, lines: chunk.lines.filter(({ at }) => begins.has(at)) }
  }
  return Object.assign(Object.create(journal) as Journal, { read, segments: () => journal.segments() })
}

async function all(
  found: AsyncIterable<{ readonly at: number; readonly record: { readonly [field: string]: unknown } }>,
): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const { at, record } of found) seen.push([at, record.text])
  return seen
}

const row = fc.record({ bytes: fc.oneof(fc.nat(200), fc.constantFrom(4_000, 5_000, 65_000, 70_000, 150_000)), rotten: fc.boolean() })
const rows = fc.array(fc.array(row, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 })

describe('records between two positions', () => {
  test.each([
    ['those that rotted are missing', false],
    ['those that rotted are found where they are carried', true],
  ])('come in order, forwards and backwards, at any size: %s', async (_, carries) => {
    await fc.assert(
      fc.asyncProperty(rows, fc.nat(30), fc.nat(30), async (segments, a, b) => {
        const { journal, records } = await make(segments, carries)
        const last = records.at(-1)?.segment
        const whole = records.filter(({ rotten, segment }) => !rotten || (carries && segment !== last))
        const bounds = [records[a % records.length]?.at as number, records[b % records.length]?.at as number].sort((x, y) => x - y)
        const [from, to] = bounds as [number, number]
        const expected = whole.filter(({ at }) => at >= from && at <= to).map(({ at, text }) => [at, text])
        expect(await all(new Records(journal).forward(from, to))).toEqual(expected)
        expect(await all(new Records(journal).backward(from, to))).toEqual(expected.toReversed())
        for (const { at, text } of whole) expect(await new Records(journal).at(at)).toMatchObject({ at, record: { text } })
        for (const { at } of records.filter((one) => !whole.includes(one))) expect(await new Records(journal).at(at)).toBeUndefined()
        if (!carries) expect(await all(new Records(inRows(journal, records)).backward(from, to))).toEqual(expected.toReversed())
      }),
      { numRuns: 30 },
    )
  })
})

test('a line that is carried is found although the segment that it stood in is gone', async () => {
  const { journal, records } = await make([[plain(10), plain(20)], [plain(30)]], true)
  await journal.purge(records[2]?.segment as number)
  expect(await journal.segments()).toHaveLength(1)
  const expected = records.map(({ at, text }) => [at, text])
  expect(await all(new Records(journal).forward(0, 1_000))).toEqual(expected)
  expect(await all(new Records(journal).backward(0, 1_000))).toEqual(expected.toReversed())
  expect(await new Records(journal).at(records[0]?.at as number)).toMatchObject({ record: { text: records[0]?.text } })
  expect(await all(new Records(journal).backward(0, records[1]?.at as number))).toEqual(expected.slice(0, 2).reverse())
})

test('there is nothing in a journal that is not there, nor between two records', async () => {
  const { journal, records } = await make([[plain(10), plain(20)]], false)
  expect(await new Records(openMemoryEngine({ keysOf: () => [] }).journal('none')).at(5)).toBeUndefined()
  expect(await new Records(journal).at((records[0]?.at as number) + 1)).toBeUndefined()
  expect(await all(new Records(journal).backward(0, (records[1]?.at as number) - 1))).toHaveLength(1)
})

function plain(bytes: number): Written {
  return { bytes, rotten: false }
}
