/** Compare-and-append: what is written, and where. */
import assert from 'node:assert/strict'
import { LIMITS } from '../../record/limits.ts'
import type { Appended } from '../port.ts'
import { assertLines, collect, contentOf, countedIds, draft, groupAt, linesOf, message, noise, rawGroup } from './records.ts'
import type { Case } from './trial.ts'
import { Writer } from './writer.ts'

const MOVED = { moved: true, placed: 0 }

/** The whole group is in place. What else an engine tells is its own. */
function assertPlaced({ moved, placed }: Appended, group: Uint8Array): void {
  assert.deepEqual({ moved, placed }, { moved: false, placed: group.length })
}

export const appendCases: readonly Case[] = [
  {
    name: 'the first append makes the journal, and all of it is in place',
    async run(trial) {
      const journal = trial.journal()
      const { bytes } = groupAt(0, '', draft('session.created'))
      assertPlaced(await journal.append(0, 0, bytes), bytes)
      assert.deepEqual(await journal.segments(), [0])
      assertLines((await contentOf(journal, 0)).lines, linesOf(bytes, 0))
    },
  },
  {
    name: 'an append goes on where the one before ended',
    async run(trial) {
      const journal = trial.journal()
      const groups = [rawGroup(Buffer.from('one')), rawGroup(Buffer.from('two'), Buffer.from('three')), rawGroup(noise(5_000, 4))]
      let end = 0
      const expected = groups.flatMap((group) => {
        const lines = linesOf(group, end)
        end += group.length
        return lines
      })
      let at = 0
      for (const group of groups) {
        assertPlaced(await journal.append(0, at, group), group)
        at += group.length
      }
      const content = await contentOf(journal, 0)
      assertLines(content.lines, expected)
      assert.equal(content.end, end)
    },
  },
  {
    name: 'an append at any other place than the end says moved and writes nothing',
    async run(trial) {
      const journal = trial.journal()
      const first = rawGroup(Buffer.from('first'))
      const second = rawGroup(Buffer.from('second'))
      await journal.append(0, 0, first)
      await journal.append(0, first.length, second)
      const end = first.length + second.length
      for (const at of [0, first.length, end - 1, end + 1, end + 1_000_000]) {
        assert.deepEqual(await journal.append(0, at, rawGroup(Buffer.from('never'))), MOVED, `append at ${at} of ${end}`)
      }
      const content = await contentOf(journal, 0)
      assertLines(content.lines, [...linesOf(first, 0), ...linesOf(second, first.length)])
      assert.equal(content.end, end)
    },
  },
  {
    name: 'an append to a segment that is not there says moved and makes none',
    async run(trial) {
      const journal = trial.journal()
      const group = rawGroup(Buffer.from('never'))
      assert.deepEqual(await journal.append(0, 7, group), MOVED)
      assert.deepEqual(await journal.append(100, 100, group), MOVED)
      assert.deepEqual(await journal.segments(), [])
      assert.deepEqual(await collect(trial.engine.names()), [])

      const first = rawGroup(Buffer.from('first'))
      await journal.append(0, 0, first)
      assert.deepEqual(await journal.append(first.length, first.length, group), MOVED)
      assert.deepEqual(await journal.segments(), [0])
    },
  },
  {
    name: 'lines of any bytes, from one byte to a mebibyte, come back as they were given',
    async run(trial) {
      const journal = trial.journal()
      const sizes = [1, 2, 3, 255, 256, 257, 4_095, 4_096, 4_097, 65_535, 65_536, 65_537, 262_144, 1_048_576]
      const expected = []
      let at = 0
      for (const [seed, size] of sizes.entries()) {
        const group = rawGroup(noise(size, seed))
        expected.push(...linesOf(group, at))
        assert.equal((await journal.append(0, at, group)).placed, group.length)
        at += group.length
      }
      assertLines((await contentOf(journal, 0)).lines, expected)
    },
  },
  {
    name: 'a group of many lines lands whole and in order',
    async run(trial) {
      const journal = trial.journal()
      const records = Array.from({ length: 2_000 }, () => draft('entry.put', { value: 'x'.repeat(20) }))
      const { bytes } = groupAt(0, '', ...records)
      assert.equal((await journal.append(0, 0, bytes)).placed, bytes.length)
      assertLines((await contentOf(journal, 0)).lines, linesOf(bytes, 0))
      assert.deepEqual(
        await countedIds(journal),
        records.map(({ id }) => id),
      )
    },
  },
  {
    name: 'a record as large as the limit can be written',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const large = draft('entry.put', { value: 'x'.repeat(LIMITS.recordBytes - 640) })
      const small = draft('entry.put')
      await writer.append(large)
      await writer.append(small)
      assert.deepEqual(await countedIds(trial.journal()), [large.id, small.id])
    },
  },
  {
    name: 'hurry, urgent and sync: false change nothing about what is written',
    async run(trial) {
      const journal = trial.journal()
      const expected = []
      let at = 0
      for (const [seed, options] of [
        { hurry: true },
        { urgent: true },
        { sync: false },
        { hurry: true, urgent: true, sync: true },
      ].entries()) {
        const group = rawGroup(noise(100_000, seed))
        expected.push(...linesOf(group, at))
        assertPlaced(await journal.append(0, at, group, options), group)
        assert.deepEqual(await journal.append(0, at, group, options), MOVED)
        at += group.length
      }
      assertLines((await contentOf(journal, 0)).lines, expected)
    },
  },
  {
    name: 'the caller may use the bytes of an append again once it has returned',
    async run(trial) {
      const journal = trial.journal()
      const buffer = rawGroup(noise(3_000, 1))
      const first = linesOf(buffer, 0)
      await journal.append(0, 0, buffer)
      buffer.set(rawGroup(noise(3_000, 2)))
      const second = linesOf(buffer, buffer.length)
      await journal.append(0, buffer.length, buffer)
      buffer.fill(0)
      assertLines((await contentOf(journal, 0)).lines, [...first, ...second])
    },
  },
  {
    name: 'a group may be a view into a larger buffer',
    async run(trial) {
      const journal = trial.journal()
      const group = rawGroup(Buffer.from('within'))
      const larger = new Uint8Array(group.length + 200).fill(0x21)
      larger.set(group, 100)
      await journal.append(0, 0, larger.subarray(100, 100 + group.length))
      const content = await contentOf(journal, 0)
      assertLines(content.lines, linesOf(group, 0))
      assert.equal(content.end, group.length)
    },
  },
  {
    name: 'journals do not touch each other',
    async run(trial) {
      const writers = Array.from({ length: 30 }, (_, index) => new Writer(trial.journal(`session ${index}`)))
      const records = writers.map(() => [message(), message(), message()])
      await Promise.all(
        writers.map(async (writer, index) => {
          for (const record of records[index] ?? []) await writer.append(record)
        }),
      )
      for (const [index, { journal }] of writers.entries()) {
        assert.deepEqual(
          await countedIds(journal),
          records[index]?.map(({ id }) => id),
        )
      }
    },
  },
]
