/** Opening, letting go, closing, and what is there after the store was opened again. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import type { Engine, Journal } from '../port.ts'
import { fill, look } from './keys.ts'
import { collect, contentOf, countedIds, draft, foldJournal, groupAt, message } from './records.ts'
import { type Case, journalOf } from './trial.ts'
import { Writer } from './writer.ts'

const CLOSED = { name: 'HoldfastError', code: 'CLOSED' }

export const lifecycleCases: readonly Case[] = [
  {
    name: 'a new engine says what it supports and what to know about the store',
    async run({ engine }) {
      assert.equal(typeof engine.supports.durable, 'boolean')
      assert.equal(typeof engine.supports.shared, 'boolean')
      assert.ok(engine.warnings.every((warning) => typeof warning === 'string'))
      assert.deepEqual(await collect(engine.names()), [], 'a new store is empty')
    },
  },
  {
    name: 'a handle that was closed can be used again, and others are not disturbed',
    async run(trial) {
      const [writer, other] = [new Writer(trial.journal()), new Writer(trial.journal())]
      const records = [message(), message(), message(), message()] as const
      await writer.append(records[0])
      await writer.journal.close()
      await other.append(records[1])
      await writer.append(records[2])
      await writer.journal.close()
      await writer.journal.close()
      await other.append(records[3])
      assert.deepEqual(
        await countedIds(writer.journal),
        records.map(({ id }) => id),
      )
    },
  },
  {
    name: 'a handle may be closed while it is used',
    async run(trial) {
      const writers = Array.from({ length: 4 }, () => new Writer(trial.journal()))
      const records = writers.map(() => [message(), message(), message()])
      await Promise.all(
        writers.map(async (writer, index) => {
          for (const record of records[index] ?? []) {
            await Promise.all([writer.append(record), writer.journal.close()])
          }
        }),
      )
      assert.deepEqual(
        (await countedIds(trial.journal())).sort(),
        records
          .flat()
          .map(({ id }) => id)
          .sort(),
      )
    },
  },
  {
    name: 'after close every call is refused with CLOSED',
    async run(trial) {
      const { engine } = trial
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      const { journal, end } = writer
      await trial.close(engine)
      const group = groupAt(end, '', message()).bytes
      for (const [call, make] of Object.entries(calls(engine, journal, end, group))) {
        await assert.rejects(make, CLOSED, call)
      }
    },
  },
  {
    name: 'close waits for the appends that are under way',
    async run(trial) {
      const { engine } = trial
      const journals = Array.from({ length: 10 }, (_, index) => trial.journal(`session ${index}`))
      const { bytes } = groupAt(0, '', draft('entry.put', { value: 'x'.repeat(100_000) }))
      const done: number[] = []
      const appends = Promise.allSettled(journals.map((journal) => journal.append(0, 0, bytes).then(({ placed }) => done.push(placed))))
      await trial.close(engine)
      await turn()
      assert.deepEqual(
        done,
        journals.map(() => bytes.length),
      )
      await appends
    },
  },
  {
    name: 'closing one engine leaves another on the same store at work',
    needs: 'shared',
    async run(trial) {
      const second = await trial.second()
      const records = [message(), message(), message()] as const
      const writer = new Writer(journalOf(second))
      await new Writer(trial.journal()).append(records[0])
      await writer.append(records[1])
      await trial.close(trial.engine)
      await writer.append(records[2])
      assert.deepEqual(
        await countedIds(journalOf(second)),
        records.map(({ id }) => id),
      )
    },
  },
  {
    name: 'everything that was acknowledged is there after the store was opened again',
    needs: 'durable',
    async run(trial) {
      const writers = Array.from({ length: 3 }, (_, index) => new Writer(trial.journal(`session ${index}`)))
      for (const writer of writers) {
        await writer.append(draft('session.created'), message())
        await writer.next()
        await writer.append(message())
      }
      const names = await collect(trial.engine.names())
      const contents = await Promise.all(writers.map(({ journal }) => everything(journal)))
      const again = await trial.reopen()
      assert.deepEqual((await collect(again.names())).sort(), names.sort())
      for (const [index, writer] of writers.entries()) {
        const journal = journalOf(again, `session ${index}`)
        assert.deepEqual(await everything(journal), contents[index])
        assert.deepEqual((await foldJournal(journal)).counted, writer.counted)
        const record = message()
        await new Writer(journal).append(record)
        assert.equal((await countedIds(journal)).at(-1), record.id)
      }
    },
  },
  {
    name: 'appends that close waited for are there after the store was opened again',
    needs: 'durable',
    async run(trial) {
      const ids = Array.from({ length: 10 }, (_, index) => `session ${index}`)
      const records = ids.map(() => message())
      const appends = ids.map((id, index) => trial.journal(id).append(0, 0, groupAt(0, '', records[index] ?? message()).bytes))
      const [again] = await Promise.all([trial.reopen(), ...appends])
      for (const [index, id] of ids.entries()) assert.deepEqual(await countedIds(journalOf(again, id)), [records[index]?.id])
    },
  },
  {
    name: 'lookups are exact after the store was opened again',
    needs: 'durable',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const expected = await fill(writer, 10, 10)
      await look(trial.journal(), ['key 0 0'], 0, (await trial.journal().segments())[5] ?? 0)
      const again = await trial.reopen()
      const found = await look(journalOf(again), [...expected.keys(), 'absent'], 0, writer.segment)
      assert.deepEqual(found, [...expected.values(), undefined])
    },
  },
  {
    name: 'what was purged is gone after the store was opened again',
    needs: 'durable',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await fill(writer, 3, 2)
      await writer.journal.purge(writer.segment)
      const again = await trial.reopen()
      assert.deepEqual(await journalOf(again).segments(), [writer.segment])
      assert.equal(await journalOf(again).read(0, 0), undefined)
    },
  },
]

/** Every call that has to be refused once the engine is closed. */
function calls(engine: Engine, journal: Journal, end: number, group: Uint8Array): Record<string, () => Promise<unknown>> {
  return {
    journal: async () => engine.journal(journal.name).segments(),
    names: async () => collect(engine.names()),
    changes: async () => engine.changes(),
    watch: async () => engine.watch(() => {}),
    segments: async () => journal.segments(),
    read: async () => journal.read(0, 0),
    append: async () => journal.append(0, end, group),
    sync: async () => journal.sync(0),
    roll: async () => journal.roll(end, group),
    lookup: async () => journal.lookup([], 0, 0),
    overwrite: async () => journal.overwrite(0, 0, group, group),
    purge: async () => journal.purge(0),
  }
}

/** The segments of a journal with all their lines. */
async function everything(journal: Journal) {
  const contents = []
  for (const segment of await journal.segments()) {
    const { lines, end } = await contentOf(journal, segment)
    contents.push({ segment, end, lines: lines.map(({ at, bytes }) => `${at} ${Buffer.from(bytes).toString('latin1')}`) })
  }
  return contents
}
