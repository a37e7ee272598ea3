/** Reading: which lines come back, from where to where, and what a reader may rely on afterwards. */
import assert from 'node:assert/strict'
import { isBlank } from '../../record/line.ts'
import type { Journal } from '../port.ts'
import { assertLines, collect, contentOf, draft, foldJournal, groupAt, linesOf, message, noise, rawGroup } from './records.ts'
import { type Case, journalOf } from './trial.ts'
import { Writer } from './writer.ts'

export const readCases: readonly Case[] = [
  {
    name: 'an absent journal has no segments, and looking at it makes none',
    async run(trial) {
      const journal = trial.journal()
      assert.equal(journal.name, trial.engine.name('space', 'session'))
      assert.deepEqual(await journal.segments(), [])
      assert.equal(await journal.read(0, 0), undefined)
      assert.deepEqual(await journal.lookup([], 0, 0), [])
      assert.deepEqual(await journal.segments(), [])
      assert.deepEqual(await collect(trial.engine.names()), [])
    },
  },
  {
    name: 'a segment that is missing reads as undefined',
    async run(trial) {
      const journal = trial.journal()
      const group = rawGroup(Buffer.from('there'))
      await journal.append(0, 0, group)
      assert.equal(await journal.read(group.length, group.length), undefined)
      assert.equal(await journal.read(2, 2), undefined)
      assert.ok(await journal.read(0, 0))
    },
  },
  {
    name: 'a read says where it ended and where an append would go',
    async run(trial) {
      const journal = trial.journal()
      let at = 0
      for (let seed = 0; seed < 5; seed++) {
        const group = rawGroup(noise(10 + seed, seed), noise(500, seed))
        await journal.append(0, at, group)
        at += group.length
        const chunk = await journal.read(0, 0)
        assert.deepEqual({ next: chunk?.next, end: chunk?.end }, { next: at, end: at })
      }
      const chunk = await journal.read(0, at)
      const { lines, next, end } = chunk ?? {}
      assert.deepEqual({ lines, next, end }, { lines: [], next: at, end: at }, 'a read from the end finds nothing and stays where it is')
    },
  },
  {
    name: 'a read can begin at every line',
    async run(trial) {
      const { journal, lines, end } = await filled(trial.journal())
      for (const [index, line] of lines.entries()) {
        const content = await contentOf(journal, 0, line.at)
        assertLines(content.lines, lines.slice(index))
        assert.equal(content.end, end)
      }
    },
  },
  {
    name: 'an engine that can tell lines by their places finds each in its journal and segment, and nothing elsewhere',
    async run({ engine }) {
      if (engine.lines === undefined) return
      const [one, other] = [new Writer(journalOf(engine, 'one')), new Writer(journalOf(engine, 'other'))]
      for (const writer of [one, other]) await writer.append(draft('session.created'), message(), message())
      await one.seal()
      await one.roll()
      await one.append(message())
      const standing = []
      for (const { journal } of [one, other]) {
        for (const segment of await journal.segments()) {
          for (const line of (await contentOf(journal, segment)).lines) standing.push({ name: journal.name, position: line.at, line })
        }
      }
      const turned = standing.toReversed()
      const found = await engine.lines([
        ...turned,
        { name: other.journal.name, position: 1 },
        { name: engine.name('space', 'none'), position: 0 },
      ])
      assertLines(
        found.slice(0, -2).filter((line) => line !== undefined),
        turned.map(({ line }) => line),
      )
      assert.deepEqual(found.slice(-2), [undefined, undefined])
    },
  },
  {
    name: 'a limit bounds the bytes of a read, but one line comes whole',
    async run(trial) {
      const { journal, lines } = await filled(trial.journal())
      for (const limit of [1, 2, 3, 100, 1_000, 3_000, 70_000, 10_000_000]) {
        let next = 0
        const seen = []
        for (;;) {
          const chunk = await journal.read(0, next, limit)
          assert.ok(chunk)
          if (chunk.lines.length === 0) break
          const bytes = chunk.lines.reduce((sum, line) => sum + line.bytes.length + 1, 0)
          assert.ok(bytes <= limit || chunk.lines.length === 1, `${chunk.lines.length} lines of ${bytes} bytes for a limit of ${limit}`)
          assert.ok(chunk.next > next)
          seen.push(...chunk.lines.filter((line) => !isBlank(line.bytes)))
          next = chunk.next
        }
        assertLines(seen, lines)
      }
    },
  },
  {
    name: 'a read that its limit ended still says where an append would go',
    async run(trial) {
      const { journal, end } = await filled(trial.journal())
      for (let next = 0; next < end; ) {
        const chunk = await journal.read(0, next, 1)
        assert.equal(chunk?.end, end)
        assert.ok(chunk.next > next)
        next = chunk.next
      }
    },
  },
  {
    name: 'lines that do not count come back like any other',
    async run(trial) {
      const journal = trial.journal()
      const good = groupAt(0, '', message('good'))
      const misplaced = groupAt(12_345, '', message('misplaced')).bytes
      const rotten = Buffer.from(groupAt(good.bytes.length + misplaced.length, '', message('rotten')).bytes)
      rotten[20] = 0x21
      const groups = [good.bytes, misplaced, rotten, rawGroup(Buffer.from('{"half":'), Buffer.from([0, 0, 0]), Buffer.from([0xff, 0xfe]))]
      const expected = []
      let at = 0
      for (const group of groups) {
        expected.push(...linesOf(group, at))
        await journal.append(0, at, group)
        at += group.length
      }
      assertLines((await contentOf(journal, 0)).lines, expected)
      const { verdicts } = await foldJournal(journal)
      assert.deepEqual(
        verdicts.map(({ kind }) => kind),
        ['counted', 'nothing', 'damage', 'damage', 'damage', 'damage'],
      )
    },
  },
  {
    name: 'what was read is not altered by later appends, rolls and purges',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'), message('kept'))
      const before = await contentOf(writer.journal, 0)
      const copies = before.lines.map(({ at, bytes }) => ({ at, bytes: Buffer.from(bytes) }))
      for (let turn = 0; turn < 20; turn++) await writer.append(draft('entry.put', { value: 'y'.repeat(turn * 1_000) }))
      await writer.next()
      await writer.journal.purge(writer.segment)
      await writer.append(message('after'))
      assertLines(before.lines, copies)
    },
  },
  {
    name: 'another handle reads what was written as soon as the append has returned',
    async run(trial) {
      const [writing, reading] = [trial.journal(), trial.journal()]
      await followed(writing, reading)
    },
  },
  {
    name: 'another engine reads what was written as soon as the append has returned',
    needs: 'shared',
    async run(trial) {
      const second = await trial.second()
      await followed(trial.journal('there'), journalOf(second, 'there'))
      await followed(journalOf(second, 'and back'), trial.journal('and back'))
    },
  },
  {
    name: 'sync makes durable what was read, and changes nothing',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const reading = trial.journal()
      await writer.append(draft('session.created'))
      await contentOf(reading, 0)
      assert.equal(await reading.sync(0), true)
      assert.equal(await reading.sync(0), true, 'nothing is new')
      const first = await writer.next()
      const before = [await contentOf(reading, 0), await contentOf(reading, first)]
      assert.equal(await reading.sync(0), true)
      assert.equal(await reading.sync(first), true)
      assert.deepEqual([await contentOf(reading, 0), await contentOf(reading, first)], before)
    },
  },
]

/** A journal with lines of very different lengths, in groups of one and of many. */
async function filled(journal: Journal) {
  const groups = [
    rawGroup(noise(1, 1)),
    rawGroup(noise(40, 2), noise(1, 3), noise(2, 4), noise(900, 5)),
    rawGroup(noise(66_000, 6)),
    rawGroup(...Array.from({ length: 20 }, (_, seed) => noise(1 + seed * 7, seed))),
  ]
  const lines = []
  let end = 0
  for (const group of groups) {
    lines.push(...linesOf(group, end))
    assert.equal((await journal.append(0, end, group)).placed, group.length)
    end += group.length
  }
  return { journal, lines, end }
}

/** The reader asks before there is anything, and after each append. */
async function followed(writing: Journal, reading: Journal): Promise<void> {
  assert.equal(await reading.read(0, 0), undefined)
  let at = 0
  for (let seed = 0; seed < 10; seed++) {
    const group = rawGroup(noise(100 + seed * 5_000, seed))
    await writing.append(0, at, group)
    const content = await contentOf(reading, 0, at)
    assertLines(content.lines, linesOf(group, at))
    at += group.length
    assert.equal(content.end, at)
  }
}
