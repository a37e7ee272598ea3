/** Many writers on one journal: exactly one wins each place, nothing acknowledged is lost, and nothing counts twice. */
import assert from 'node:assert/strict'
import { LEAD_IN } from '../../record/line.ts'
import type { Engine } from '../port.ts'
import { contentOf, countedIds, draft, foldJournal, groupAt, message } from './records.ts'
import { type Case, journalOf, type Trial } from './trial.ts'
import { Writer } from './writer.ts'

export const raceCases: readonly Case[] = [
  {
    name: 'of many appends at one place exactly one wins',
    run: (trial) => duel(trial, [trial.engine]),
  },
  {
    name: 'of many appends at one place by two engines exactly one wins',
    needs: 'shared',
    run: async (trial) => duel(trial, [trial.engine, await trial.second()]),
  },
  {
    name: 'writers on many handles get every record in once, and all readers agree on the order',
    run: (trial) => contend([trial.engine]),
  },
  {
    name: 'writers on two engines get every record in once, and all readers agree on the order',
    needs: 'shared',
    run: async (trial) => contend([trial.engine, await trial.second()]),
  },
  {
    name: 'writers that seal and roll at once agree on every segment',
    run: (trial) => contend([trial.engine], { withSeals: true }),
  },
  {
    name: 'writers on two engines that seal and roll at once agree on every segment',
    needs: 'shared',
    run: async (trial) => contend([trial.engine, await trial.second()], { withSeals: true }),
  },
  {
    name: 'many helpers of one roll make one segment',
    run: (trial) => help(trial, [trial.engine]),
  },
  {
    name: 'helpers of one roll on two engines make one segment',
    needs: 'shared',
    run: async (trial) => help(trial, [trial.engine, await trial.second()]),
  },
]

/** Rounds in which everybody has read up to the same place and appends there at once; the first round makes the journal. */
async function duel(trial: Trial, engines: readonly Engine[]): Promise<void> {
  const contenders = engines.flatMap((engine) => Array.from({ length: 6 }, () => journalOf(engine)))
  const winners: string[] = []
  let end = 0
  let prev = ''
  for (let round = 0; round < 10; round++) {
    const groups = contenders.map(() => {
      const record = draft('entry.put', { value: 'x'.repeat(round * 20_000) })
      return { record, ...groupAt(end, prev, record) }
    })
    const answers = await Promise.all(contenders.map((journal, index) => journal.append(0, end, groups[index]?.bytes ?? LEAD_IN)))
    const won = groups.filter(({ bytes }, index) => answers[index]?.placed === bytes.length)
    assert.equal(won.length, 1, `round ${round}: ${won.length} appends at ${end} say that they are in place`)
    winners.push(won[0]?.record.id ?? '')
    for (const journal of contenders) assert.deepEqual(await countedIds(journal), winners)

    const content = await contentOf(trial.journal(), 0)
    const standing = Buffer.concat(content.lines.map(({ bytes }) => bytes))
    for (const [index, { record }] of groups.entries()) {
      const answer = answers[index]
      if (answer?.moved) {
        assert.equal(answer.placed, 0)
        assert.ok(!standing.includes(`"id":"${record.id}"`), 'an append that says moved must not have written anything')
      }
    }
    end = content.end
    prev = (await foldJournal(trial.journal())).fold.prev
  }
}

/** Writers that know nothing of each other, each with records of its own. Those that seal make the others roll in the middle of it. */
async function contend(engines: readonly Engine[], { withSeals = false } = {}): Promise<void> {
  const writers = engines.flatMap((engine) => Array.from({ length: 4 }, () => new Writer(journalOf(engine))))
  const written = await Promise.all(
    writers.map(async (writer, index) => {
      const own: string[] = []
      for (let turn = 0; turn < 10; turn++) {
        const records = Array.from({ length: 1 + ((turn + index) % 3) }, () => message())
        await writer.append(...records)
        own.push(...records.map(({ id }) => id))
        if (withSeals && turn % 4 === 3) await writer.seal()
      }
      return own
    }),
  )
  const orders = await Promise.all(engines.map((engine) => messageIds(engine)))
  const [order = []] = orders
  for (const other of orders) assert.deepEqual(other, order)
  assert.deepEqual([...order].sort(), written.flat().sort(), 'every record counts, and counts once')
  for (const own of written) {
    const mine = new Set(own)
    assert.deepEqual(
      order.filter((id) => mine.has(id)),
      own,
      'what one writer wrote one after the other stands in that order',
    )
  }
}

/** Ids of the messages that count, in order, without the seals. */
async function messageIds(engine: Engine): Promise<string[]> {
  const { counted } = await foldJournal(journalOf(engine))
  return counted.filter(({ record }) => record.type === 'messages.appended').map(({ record }) => record.id)
}

async function help(trial: Trial, engines: readonly Engine[]): Promise<void> {
  const helpers = engines.flatMap((engine) => Array.from({ length: 5 }, () => new Writer(journalOf(engine))))
  const writer = new Writer(trial.journal())
  const segments = [0]
  for (let round = 0; round < 4; round++) {
    await writer.append(message(), message())
    segments.push(await writer.seal('sync failed', writer.counted.at(-2)?.at))
    for (const helper of helpers) await helper.catchUp()
    await Promise.all(helpers.map((helper) => helper.roll()))
    await writer.roll()
    for (const { journal } of helpers) assert.deepEqual(await journal.segments(), segments)
    const { verdicts } = await foldJournal(trial.journal())
    assert.equal(verdicts.filter(({ kind }) => kind === 'checkpoint').length, round + 1, 'each segment is opened by one checkpoint')
  }
  const { counted } = await foldJournal(trial.journal())
  assert.deepEqual(counted, writer.counted, 'lines that are carried, by whomever, count once')
}
