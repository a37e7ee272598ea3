/** Looking up keys: exact for every counted record of the sealed segments that were asked about, and for nothing else. */
import assert from 'node:assert/strict'
import type { Counted } from '../../record/fold.ts'
import { hashKey, type KeyEntry } from '../../record/key-hash.ts'
import { LIMITS } from '../../record/limits.ts'
import { LEAD_IN } from '../../record/line.ts'
import type { Journal } from '../port.ts'
import { draft, entryOf, foldJournal, groupAt, message } from './records.ts'
import { type Case, journalOf } from './trial.ts'
import { Writer } from './writer.ts'

export const keyCases: readonly Case[] = [
  {
    name: 'a lookup returns what is known of each key, in the order of the question',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const [, one, two] = await writer.append(draft('session.created'), message('a', 'b'), message('c'))
      await writer.next()
      assert.deepEqual(await look(trial.journal(), ['c', 'missing', 'a', 'b', 'a'], 0, writer.segment), [
        entry('c', two),
        undefined,
        entry('a', one),
        entry('b', one, 1),
        entry('a', one),
      ])
      assert.deepEqual(await trial.journal().lookup([], 0, writer.segment), [])
    },
  },
  {
    name: 'a lookup knows the segments from `from` on and before `before`, and no others',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      const starts: number[] = []
      const places: (Counted | undefined)[] = []
      for (const key of ['first', 'second', 'third', 'active']) {
        starts.push(writer.segment)
        places.push((await writer.append(message(key)))[0])
        if (key !== 'active') await writer.next()
      }
      const all = ['first', 'second', 'third', 'active']
      for (let from = 0; from < 4; from++) {
        for (let before = from; before < 4; before++) {
          const expected = all.map((key, index) => (index >= from && index < before ? entry(key, places[index]) : undefined))
          assert.deepEqual(await look(trial.journal(), all, starts[from] ?? 0, starts[before] ?? 0), expected, `[${from}, ${before})`)
        }
      }
    },
  },
  {
    name: 'a key that stands in two segments is told apart by the range',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const [old] = await writer.append(message('again'), draft('session.deleted'))
      await writer.seal('new incarnation')
      const first = await writer.roll()
      const [, renewed] = await writer.append(draft('session.created'), message('again'))
      const second = await writer.next()
      assert.deepEqual(await look(trial.journal(), ['again'], 0, first), [entry('again', old)])
      assert.deepEqual(await look(trial.journal(), ['again'], first, second), [entry('again', renewed)])
    },
  },
  {
    name: 'of several records of one key, a lookup returns the highest in the range, and of one record the highest index',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const starts = [0]
      const last: (KeyEntry | undefined)[] = []
      for (let segment = 0; segment < 12; segment++) {
        const placed = await writer.append(message('hot'), message('hot', `other ${segment}`, 'hot'), message(`last ${segment}`))
        last.push(entry('hot', placed[1], 2))
        starts.push(await writer.next())
      }
      for (const journal of [writer.journal, trial.journal()]) {
        for (let before = 1; before <= 12; before++) {
          for (const from of [0, before - 1]) {
            const found = await look(journal, ['hot'], starts[from] ?? 0, starts[before] ?? 0)
            assert.deepEqual(found, [last[before - 1]], `[${from}, ${before})`)
          }
        }
      }
    },
  },
  {
    name: 'a carried record is not taken for a higher one than those that stand behind it',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const [unsure, higher] = await writer.append(message('carried'), message('carried'), draft('usage.recorded'))
      await writer.seal('sync failed', unsure?.at)
      const first = await writer.roll()
      const second = await writer.next()
      assert.deepEqual(await look(trial.journal(), ['carried'], 0, second), [entry('carried', higher)])
      assert.deepEqual(await look(trial.journal(), ['carried'], first, second), [undefined])
    },
  },
  {
    name: 'what is handed over of a sealed segment is found like what was read from it',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const expected = new Map<string, KeyEntry | undefined>()
      for (let segment = 0; segment < 20; segment++) {
        const begin = writer.segment
        const names = Array.from({ length: 5 }, (_, index) => `key ${segment} ${index}`)
        const placed = await writer.append(message('hot'), ...names.map((name) => message(name)))
        expected.set('hot', entry('hot', placed[0]))
        for (const [index, name] of names.entries()) expected.set(name, entry(name, placed[index + 1]))
        const known = ['hot', ...names].map((name) => expected.get(name) as KeyEntry)
        const end = await writer.next()
        // Not of every segment: a hint may be left out.
        if (segment % 5 !== 3) writer.journal.storeKeys(begin, end, new Map(known.map((one) => [one.key, one])))
        for (const journal of [writer.journal, trial.journal()]) {
          assert.deepEqual(await look(journal, [...expected.keys(), 'absent'], 0, end), [...expected.values(), undefined])
        }
      }
    },
  },
  {
    name: 'a line that does not count has no keys',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const { journal } = writer
      const [, good] = await writer.append(draft('session.created'), message('good'))
      await journal.append(0, writer.end, groupAt(writer.end + 1, '', message('misplaced')).bytes)
      await writer.catchUp()
      const rotten = Buffer.from(groupAt(writer.end, writer.fold.prev, message('rotten')).bytes)
      rotten[rotten.indexOf('2026')] = 0x33
      await journal.append(0, writer.end, rotten)
      const repeated = message('first copy')
      const [copy] = await writer.append(repeated)
      const second = { ...repeated, payload: { keys: ['second copy'] } }
      await journal.append(0, writer.end, groupAt(writer.end, writer.fold.prev, second).bytes)
      await writer.catchUp()
      const seal = draft('segment.sealed', { why: 'size' })
      await journal.append(0, writer.end, groupAt(writer.end, writer.fold.prev, seal, message('outside')).bytes)
      await writer.catchUp()
      await writer.roll()
      const { verdicts } = await foldJournal(trial.journal())
      const reasons = verdicts.map((verdict) => (verdict.kind === 'nothing' ? verdict.why : verdict.kind))
      for (const reason of ['misplaced', 'damage', 'repeated', 'outside']) assert.ok(reasons.includes(reason as 'outside'), reason)

      const keys = ['good', 'first copy', 'misplaced', 'rotten', 'second copy', 'outside']
      const found = await look(trial.journal(), keys, 0, writer.segment)
      assert.deepEqual(found, [entry('good', good), entry('first copy', copy), ...keys.slice(2).map(() => undefined)])
    },
  },
  {
    name: 'lookups are exact over forty segments, for a thousand keys and a thousand that are absent',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const expected = await fill(writer, 40, 25)
      const absent = Array.from({ length: 1_000 }, (_, index) => `absent ${index}`)
      for (const journal of [writer.journal, trial.journal()]) {
        assert.deepEqual(await look(journal, [...expected.keys()], 0, writer.segment), [...expected.values()])
        assert.ok((await look(journal, absent, 0, writer.segment)).every((found) => found === undefined))
      }
      for (const [key, known] of [...expected].filter((_, index) => index % 97 === 0)) {
        assert.deepEqual(await look(writer.journal, [key], 0, writer.segment), [known])
      }
    },
  },
  {
    name: 'lookups stay exact while the journal grows',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const expected = new Map<string, KeyEntry | undefined>()
      for (let turn = 0; turn < 12; turn++) {
        const [placed] = await writer.append(message(`turn ${turn}`))
        const before = await look(trial.journal(), [`turn ${turn}`], 0, writer.segment)
        assert.deepEqual(before, [undefined], 'what stands in the segment that is written to is not asked about')
        expected.set(`turn ${turn}`, entry(`turn ${turn}`, placed))
        await writer.next()
        assert.deepEqual(await look(trial.journal(), [...expected.keys()], 0, writer.segment), [...expected.values()])
      }
    },
  },
  {
    name: 'a record may hold as many keys as it may hold messages',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const keys = Array.from({ length: LIMITS.messagesPerRecord }, (_, index) => `key ${index}`)
      const [placed] = await writer.append(message(...keys))
      await writer.next()
      const found = await look(trial.journal(), keys, 0, writer.segment)
      assert.deepEqual(
        found,
        keys.map((key, index) => entry(key, placed, index)),
      )
    },
  },
  {
    name: 'many lookups at once are all exact',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const expected = await fill(writer, 10, 10)
      const answers = await Promise.all([...expected.keys()].map((key) => look(trial.journal(), [key, 'absent'], 0, writer.segment)))
      assert.deepEqual(
        answers,
        [...expected.values()].map((known) => [known, undefined]),
      )
    },
  },
  {
    name: 'a carried line is found in the segment that carries it, once its own is purged',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const [, unsure] = await writer.append(message('before'), message('carried'))
      await writer.seal('sync failed', unsure?.at)
      const first = await writer.roll()
      const [after] = await writer.append(message('after'))
      const second = await writer.next()
      assert.deepEqual(await look(trial.journal(), ['carried'], 0, second), [entry('carried', unsure)])
      await trial.journal().purge(first)
      const found = await look(trial.journal(), ['before', 'carried', 'after'], 0, second)
      assert.deepEqual(found, [undefined, entry('carried', unsure), entry('after', after)])
      const fromHere = await look(trial.journal(), ['carried', 'after'], first, second)
      assert.deepEqual(fromHere, [undefined, entry('after', after)], 'a carried line stands at its own position')
    },
  },
  {
    name: 'a segment without a record has no keys',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.journal.append(0, 0, LEAD_IN)
      await writer.next()
      await writer.next()
      const [placed] = await writer.append(message('only'))
      await writer.next()
      assert.deepEqual(await look(trial.journal(), ['only', 'absent'], 0, writer.segment), [entry('only', placed), undefined])
    },
  },
  {
    name: 'another engine looks up the same',
    needs: 'shared',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const second = await trial.second()
      for (let turn = 0; turn < 3; turn++) {
        const expected = await fill(writer, 4, 5, `turn ${turn}`)
        for (const engine of [second, trial.engine]) {
          assert.deepEqual(await look(journalOf(engine), [...expected.keys(), 'absent'], 0, writer.segment), [
            ...expected.values(),
            undefined,
          ])
        }
      }
    },
  },
]

/** Writes so many sealed segments of so many keys each, and returns what is then known of each key. */
export async function fill(writer: Writer, segments: number, keys: number, prefix = 'key'): Promise<Map<string, KeyEntry | undefined>> {
  const known = new Map<string, KeyEntry | undefined>()
  for (let segment = 0; segment < segments; segment++) {
    const names = Array.from({ length: keys }, (_, index) => `${prefix} ${segment} ${index}`)
    const placed = await writer.append(...names.map((name) => message(name)))
    for (const [index, name] of names.entries()) known.set(name, entry(name, placed[index]))
    await writer.next()
  }
  return known
}

/** Looks up keys by name. */
export function look(journal: Journal, keys: readonly string[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
  const hashes = keys.map((key) => hashKey('message', key))
  return journal.lookup(hashes, from, before)
}

function entry(key: string, placed: Counted | undefined, index = 0): KeyEntry {
  assert.ok(placed)
  return entryOf(key, placed, index)
}
