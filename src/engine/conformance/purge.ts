/** Purging: whole segments go, what is kept stays as it was, and nothing comes back. */
import assert from 'node:assert/strict'
import { fill, look } from './keys.ts'
import { collect, contentOf, countedIds, draft, foldJournal, groupAt, message } from './records.ts'
import { type Case, journalOf, type Trial } from './trial.ts'
import { Writer } from './writer.ts'

const MOVED = { moved: true, placed: 0 }

export const purgeCases: readonly Case[] = [
  {
    name: 'a purge removes the segments that end at or before the position, and never the last',
    async run(trial) {
      const { journal, first, second } = await three(trial)
      assert.equal(await journal.purge(0), 0)
      assert.equal(await journal.purge(first - 1), 0)
      assert.deepEqual(await journal.segments(), [0, first, second])
      assert.ok((await journal.purge(first)) > 0, 'a purge tells how many bytes were freed')
      assert.deepEqual(await journal.segments(), [first, second])
      assert.equal(await journal.purge(second - 1), 0)
      assert.deepEqual(await journal.segments(), [first, second])
      assert.ok((await journal.purge(Number.MAX_SAFE_INTEGER)) > 0)
      assert.deepEqual(await journal.segments(), [second])
      assert.equal(await journal.purge(Number.MAX_SAFE_INTEGER), 0)
      assert.deepEqual(await journal.segments(), [second])
    },
  },
  {
    name: 'one purge removes many segments',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await fill(writer, 8, 2)
      const segments = await trial.journal().segments()
      await trial.journal().purge(segments[6] ?? 0)
      assert.deepEqual(await trial.journal().segments(), segments.slice(6))
    },
  },
  {
    name: 'what was purged reads as missing, what is kept reads as before',
    async run(trial) {
      const { journal, first, second } = await three(trial)
      const kept = [await contentOf(journal, first), await contentOf(journal, second)]
      const counted = await countedIds(journal, first)
      await journal.purge(first)
      for (const handle of [journal, trial.journal()]) {
        assert.equal(await handle.read(0, 0), undefined)
        assert.deepEqual([await contentOf(handle, first), await contentOf(handle, second)], kept)
        assert.deepEqual(await countedIds(handle), counted)
      }
      assert.ok((await foldJournal(journal)).fold.rooted)
    },
  },
  {
    name: 'lookups after a purge still know what is kept',
    async run(trial) {
      const writer = new Writer(trial.journal())
      const expected = [...(await fill(writer, 6, 10))]
      const segments = await trial.journal().segments()
      const kept = segments[3] ?? 0
      await look(trial.journal(), ['key 0 0'], 0, writer.segment)
      await trial.journal().purge(kept)
      for (const from of [0, kept]) {
        const found = await look(trial.journal(), [...expected.slice(30).map(([key]) => key), 'absent'], from, writer.segment)
        assert.deepEqual(found, [...expected.slice(30).map(([, known]) => known), undefined])
      }
      const gone = await look(
        trial.journal(),
        expected.slice(0, 30).map(([key]) => key),
        kept,
        writer.segment,
      )
      assert.ok(gone.every((found) => found === undefined))
    },
  },
  {
    name: 'appends go on after a purge, and the first append of a late writer does not begin the journal anew',
    async run(trial) {
      const { journal, writer, second } = await three(trial)
      await journal.purge(second)
      assert.deepEqual(await trial.journal().append(0, 0, groupAt(0, '', message()).bytes), MOVED)
      assert.deepEqual(await trial.journal().segments(), [second])
      const [placed] = await writer.append(message())
      assert.deepEqual((await countedIds(trial.journal())).at(-1), placed?.record.id)
    },
  },
  {
    name: 'a handle that has read a segment finds it gone, and its late append says moved',
    run: async (trial) => outlive(trial, new Writer(trial.journal())),
  },
  {
    name: 'an engine that has read a segment finds it gone, and its late append says moved',
    needs: 'shared',
    run: async (trial) => outlive(trial, new Writer(journalOf(await trial.second()))),
  },
  {
    name: 'a purge of an absent journal frees nothing and makes nothing',
    async run(trial) {
      assert.equal(await trial.journal().purge(1_000_000), 0)
      assert.deepEqual(await trial.journal().segments(), [])
      assert.deepEqual(await collect(trial.engine.names()), [])
    },
  },
  {
    name: 'a purge leaves other journals alone',
    async run(trial) {
      const { journal } = await three(trial)
      const other = new Writer(trial.journal('other'))
      await fill(other, 3, 1)
      const segments = await other.journal.segments()
      await journal.purge(Number.MAX_SAFE_INTEGER)
      assert.deepEqual(await trial.journal('other').segments(), segments)
      assert.deepEqual((await foldJournal(other.journal)).counted, other.counted)
    },
  },
]

async function three(trial: Trial) {
  const writer = new Writer(trial.journal())
  await writer.append(draft('session.created'), message())
  const first = await writer.next()
  await writer.append(message())
  const second = await writer.next()
  await writer.append(message())
  return { journal: trial.journal(), writer, first, second }
}

/** The late writer has read the first segment, not its seal, when others seal, roll and purge it. */
async function outlive(trial: Trial, late: Writer): Promise<void> {
  const writer = new Writer(trial.journal())
  await writer.append(draft('session.created'), message())
  await late.append(message())
  await writer.next()
  const kept = await writer.next()
  await writer.journal.purge(kept)
  const { bytes } = groupAt(late.end, late.fold.prev, message())
  assert.deepEqual(await late.journal.append(0, late.end, bytes), MOVED)
  assert.equal(await late.journal.read(0, late.end), undefined)
  assert.deepEqual(await late.journal.segments(), [kept])
  assert.deepEqual(await trial.journal().segments(), [kept])
}
