/** Rolling: a new segment with its preamble, once, and what becomes of the one before. */
import assert from 'node:assert/strict'
import { assertLines, contentOf, countedIds, draft, foldJournal, groupAt, linesOf, message, rawGroup } from './records.ts'
import type { Case } from './trial.ts'
import { Writer } from './writer.ts'

const MOVED = { moved: true, placed: 0 }

export const rollCases: readonly Case[] = [
  {
    name: 'a roll makes a segment that opens with its preamble',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'), message())
      const first = await writer.seal()
      const before = await contentOf(writer.journal, 0)
      const preamble = writer.preamble()
      await writer.journal.roll(first, preamble)
      assert.deepEqual(await trial.journal().segments(), [0, first])
      const content = await contentOf(trial.journal(), first)
      assertLines(content.lines, linesOf(preamble, first))
      assert.deepEqual([content.next, content.end], [first + preamble.length, first + preamble.length])
      assert.deepEqual(await contentOf(trial.journal(), 0), before, 'the segment before stays as it was')
    },
  },
  {
    name: 'a roll of an absent journal makes it, with that segment alone, and is announced',
    async run(trial) {
      const { cursor } = await trial.engine.changes()
      const preamble = rawGroup(Buffer.from('copied'))
      await trial.journal().roll(1_000, preamble)
      assert.deepEqual(await trial.journal().segments(), [1_000])
      assertLines((await contentOf(trial.journal(), 1_000)).lines, linesOf(preamble, 1_000))
      assert.deepEqual((await trial.engine.changes(cursor)).names, [trial.engine.name('space', 'session')])
      assert.deepEqual(await trial.journal().append(0, 0, preamble), MOVED)
      assert.equal((await trial.journal().append(1_000, 1_000 + preamble.length, preamble)).placed, preamble.length)
    },
  },
  {
    name: 'a roll that was made already changes nothing, also when records follow its preamble',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      const first = await writer.seal()
      const preamble = writer.preamble()
      await writer.roll()
      const rolled = await contentOf(trial.journal(), first)
      await trial.journal().roll(first, preamble)
      assert.deepEqual(await contentOf(trial.journal(), first), rolled)
      await writer.append(message(), message())
      const written = await contentOf(trial.journal(), first)
      await trial.journal().roll(first, preamble)
      assert.deepEqual(await contentOf(trial.journal(), first), written)
      assert.deepEqual(await trial.journal().segments(), [0, first])
    },
  },
  {
    name: 'the caller may use the bytes of a preamble again once the roll has returned',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      const first = await writer.seal()
      const preamble = writer.preamble()
      const expected = linesOf(preamble, first)
      await writer.journal.roll(first, preamble)
      preamble.fill(0)
      assertLines((await contentOf(trial.journal(), first)).lines, expected)
    },
  },
  {
    name: 'appends go on behind the preamble, and nowhere else',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      const first = await writer.next()
      const record = message()
      const { bytes } = groupAt(writer.end, writer.fold.prev, record)
      for (const at of [first, writer.end - 1, writer.end + 1]) assert.deepEqual(await writer.journal.append(first, at, bytes), MOVED)
      assert.equal((await writer.journal.append(first, writer.end, bytes)).placed, bytes.length)
      assertLines((await contentOf(trial.journal(), first, writer.end)).lines, linesOf(bytes, writer.end))
      assert.equal((await countedIds(trial.journal())).at(-1), record.id)
    },
  },
  {
    name: 'a writer that has not seen the seal is told moved',
    async run(trial) {
      const [writer, late] = [new Writer(trial.journal()), new Writer(trial.journal())]
      await writer.append(draft('session.created'))
      await late.catchUp()
      await writer.next()
      const before = await contentOf(trial.journal(), 0)
      const { bytes } = groupAt(late.end, late.fold.prev, message())
      assert.deepEqual(await late.journal.append(0, late.end, bytes), MOVED)
      assert.deepEqual(await contentOf(trial.journal(), 0), before)
    },
  },
  {
    name: 'whatever is appended behind a seal, before the roll or after it, never counts',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      await writer.seal()
      const { end, fold, journal } = writer
      const behind = groupAt(end, fold.prev, message('behind the seal')).bytes
      await journal.append(0, end, behind)
      await writer.roll()
      const last = (await contentOf(journal, 0)).end
      await journal.append(0, last, groupAt(last, fold.prev, message('behind the roll')).bytes)
      const after = message()
      await writer.append(after)
      assert.deepEqual(await foldJournal(trial.journal()).then(({ counted }) => counted), writer.counted)
      assert.deepEqual(await countedIds(trial.journal(), writer.segment), [after.id])
    },
  },
  {
    name: 'a fold that begins at a rolled segment comes to the same state as one from the start',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'), message(), message())
      await writer.next()
      await writer.append(message(), draft('session.deleted'))
      const second = await writer.next()
      await writer.append(draft('session.restored'), message())
      const all = await foldJournal(trial.journal())
      const tail = await foldJournal(trial.journal(), second)
      const state = ({ fold }: typeof all) => [fold.segment, fold.end, fold.prev, fold.lastId, fold.rooted, fold.ready]
      assert.deepEqual(state(tail), state(all))
      assert.deepEqual(tail.counted, all.counted.slice(-2))
    },
  },
  {
    name: 'lines that a segment carries stand in it and count once',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const [, unsure] = await writer.append(draft('session.created'), message('carried'), message('carried too'))
      assert.ok(unsure)
      await writer.seal('sync failed', unsure.at)
      const first = await writer.roll()
      const after = message()
      await writer.append(after)
      const all = await foldJournal(trial.journal())
      assert.deepEqual(all.counted, writer.counted)
      const tail = await foldJournal(trial.journal(), first)
      const carried = tail.counted.filter((record) => record.carried)
      assert.deepEqual(
        carried.map(({ at, end, crc }) => ({ at, end, crc })),
        writer.counted.slice(1, 4).map(({ at, end, crc }) => ({ at, end, crc })),
      )
    },
  },
  {
    name: 'a journal of many segments lists them in order and reads every one',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const expected = [0]
      await writer.append(draft('session.created'))
      for (let turn = 0; turn < 30; turn++) {
        expected.push(await writer.next())
        await writer.append(message())
      }
      assert.deepEqual(await trial.journal().segments(), expected)
      assert.deepEqual((await foldJournal(trial.journal())).counted, writer.counted)
    },
  },
  {
    name: 'a late roll of a segment that has a successor leaves the journal as it is',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      const first = await writer.seal()
      const preamble = writer.preamble()
      await writer.roll()
      await writer.append(message())
      const second = await writer.next()
      await writer.append(message())
      const before = [await contentOf(trial.journal(), first), await contentOf(trial.journal(), second)]
      await trial.journal().roll(first, preamble)
      assert.deepEqual([await contentOf(trial.journal(), first), await contentOf(trial.journal(), second)], before)
      assert.deepEqual(await trial.journal().segments(), [0, first, second])
      const last = rawGroup(Buffer.from('still the last one'))
      assert.equal((await trial.journal().append(second, writer.end, last)).placed, last.length)
    },
  },
]
