/** Overwriting: the one change of what stands. A line of the same length, in its place, and nothing else. */
import assert from 'node:assert/strict'
import { overwritten, partOf } from '../../record/erasure.ts'
import { decodeLine, type Line } from '../../record/line.ts'
import type { Journal } from '../port.ts'
import { look } from './keys.ts'
import { contentOf, countedIds, draft, foldJournal } from './records.ts'
import { type Case, journalOf, type Trial } from './trial.ts'
import { Writer } from './writer.ts'

export const overwriteCases: readonly Case[] = [
  {
    name: 'a line that is written over stands in its place, for every handle, and no other byte has changed',
    async run(trial) {
      const { journal, line, changed } = await standing(trial)
      const before = await contentOf(journal, 0)
      assert.equal(await journal.overwrite(0, line.at, line.bytes, changed.bytes), true)
      for (const handle of [journal, trial.journal()]) {
        const after = await contentOf(handle, 0)
        assert.deepEqual(
          after.lines.map(({ at, bytes }) => [at, Buffer.from(bytes).toString()]),
          before.lines.map(({ at, bytes }) => [at, Buffer.from(at === line.at ? changed.bytes : bytes).toString()]),
        )
        assert.equal(after.end, before.end)
      }
    },
  },
  {
    name: 'what was written over counts as before, and appends go on behind it',
    async run(trial) {
      const { journal, writer, line, changed } = await standing(trial)
      const counted = await countedIds(journal)
      await journal.overwrite(0, line.at, line.bytes, changed.bytes)
      assert.deepEqual(await countedIds(trial.journal()), counted)
      const [placed] = await writer.append(draft('messages.appended', { text: 'behind' }))
      assert.deepEqual(await countedIds(trial.journal()), [...counted, placed?.record.id])
    },
  },
  {
    name: 'nothing is written over where something else stands, or nothing',
    async run(trial) {
      const { journal, line, changed } = await standing(trial)
      const before = await contentOf(journal, 0)
      assert.equal(await journal.overwrite(0, line.at, changed.bytes, line.bytes), false)
      assert.equal(await journal.overwrite(0, line.at + 1, line.bytes, changed.bytes), false)
      assert.equal(await journal.overwrite(0, line.at - 1, line.bytes, changed.bytes), false)
      assert.equal(await journal.overwrite(before.end, before.end, line.bytes, changed.bytes), false)
      assert.equal(await trial.journal('absent').overwrite(0, line.at, line.bytes, changed.bytes), false)
      assert.deepEqual(await contentOf(journal, 0), before)
    },
  },
  {
    name: 'the part of a line that stands there is not the line',
    async run(trial) {
      const { journal, line, changed } = await standing(trial)
      const cut = line.bytes.length - 10
      assert.equal(await journal.overwrite(0, line.at, line.bytes.subarray(0, cut), changed.bytes.subarray(0, cut)), false)
      assert.equal(await journal.overwrite(0, line.at + 10, line.bytes.subarray(10), changed.bytes.subarray(10)), false)
      assert.deepEqual((await lineAt(journal, line.at)).bytes, line.bytes)
    },
  },
  {
    name: 'a lookup tells of what stands there now, in a sealed segment and in one that is sealed later',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const first = await said(writer, 'one')
      await writer.next()
      await look(trial.journal(), ['one'], 0, writer.segment)
      const second = await said(writer, 'two')
      const last = writer.segment
      for (const [segment, line] of [
        [0, first],
        [last, second],
      ] as const) {
        assert.equal(await writer.journal.overwrite(segment, line.at, line.bytes, without(line).bytes), true)
      }
      await writer.seal('size')
      const third = await writer.roll()
      for (const handle of [writer.journal, trial.journal()]) {
        const found = await look(handle, ['one', 'two'], 0, third)
        assert.deepEqual(
          found.map((entry) => entry?.crc),
          [without(first).crc, without(second).crc],
        )
      }
    },
  },
  {
    name: 'another engine reads what was written over',
    needs: 'shared',
    async run(trial) {
      const { journal, line, changed } = await standing(trial)
      const other = journalOf(await trial.second())
      await contentOf(other, 0)
      await journal.overwrite(0, line.at, line.bytes, changed.bytes)
      assert.deepEqual(Buffer.from((await lineAt(other, line.at)).bytes), changed.bytes)
    },
  },
  {
    name: 'what was written over is still so after the store was opened again',
    needs: 'durable',
    async run(trial) {
      const { journal, line, changed } = await standing(trial)
      await journal.overwrite(0, line.at, line.bytes, changed.bytes)
      const again = journalOf(await trial.reopen())
      assert.deepEqual(Buffer.from((await lineAt(again, line.at)).bytes), changed.bytes)
      assert.ok((await foldJournal(again)).fold.rooted)
    },
  },
]

/** A journal with a line in the middle that can be written over, and what is to take its place. */
async function standing(trial: Trial) {
  const writer = new Writer(trial.journal())
  await writer.append(draft('session.created'))
  const line = await said(writer, 'key')
  await writer.append(draft('messages.appended', { text: 'last' }))
  return { journal: writer.journal, writer, line, changed: without(line) }
}

async function said(writer: Writer, key: string): Promise<Line> {
  const [placed] = await writer.append(draft('messages.appended', { keys: [key], text: 'what is to go' }))
  return lineAt(writer.journal, placed?.at ?? -1, writer.segment)
}

function without(line: Line): { bytes: Buffer; crc: string } {
  const part = partOf(line.bytes, ['text'], '""', '""')
  const changed = overwritten(line.bytes, part === undefined ? [] : [part])
  assert.equal(decodeLine(changed.bytes).kind, 'record')
  return changed
}

async function lineAt(journal: Journal, at: number, segment = 0): Promise<Line> {
  const found = (await contentOf(journal, segment)).lines.find((line) => line.at === at)
  assert.ok(found, `a line must stand at ${at}`)
  return found
}
