/** Changes: nobody who asks misses one, and a hint comes soon. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '../port.ts'
import { draft, message, rawGroup } from './records.ts'
import { type Case, journalOf } from './trial.ts'
import { Writer } from './writer.ts'

/** How long a hint may take, and how long a quiet store may take to say that nothing changed. */
const SOON_MS = 3_000
const STEP_MS = 10

export const changeCases: readonly Case[] = [
  {
    name: 'changes without a cursor says reset, and its cursor can be used',
    async run({ engine }) {
      const first = await engine.changes()
      assert.equal(first.reset, true)
      const next = await engine.changes(first.cursor)
      assert.deepEqual({ names: next.names, reset: next.reset }, { names: [], reset: false })
    },
  },
  {
    name: 'a cursor that the store did not give says reset, and the answer can be used',
    async run(trial) {
      await new Writer(trial.journal()).append(message())
      const other = await trial.elsewhere()
      const { cursor } = await other.changes()
      await new Writer(journalOf(other)).append(message())
      for (const foreign of ['nonsense', '', '0', '-1', '999999999999', cursor, (await other.changes(cursor)).cursor]) {
        const answer = await trial.engine.changes(foreign)
        assert.equal(answer.reset, true, `the cursor ${JSON.stringify(foreign)} was never given`)
        await announced(trial.engine, answer.cursor)
      }
    },
  },
  {
    name: 'every append is announced to the next call',
    async run(trial) {
      const writer = new Writer(trial.journal())
      let { cursor } = await trial.engine.changes()
      for (let turn = 0; turn < 10; turn++) {
        await writer.append(message())
        const answer = await trial.engine.changes(cursor)
        assert.equal(answer.reset, false)
        assert.ok(answer.names.includes(writer.journal.name), `the append of turn ${turn}`)
        cursor = answer.cursor
      }
    },
  },
  {
    name: 'appends to many journals at once are all announced, and a cursor can be used twice',
    async run(trial) {
      const { cursor } = await trial.engine.changes()
      const names = Array.from({ length: 40 }, (_, index) => trial.engine.name('space', `session ${index}`))
      await Promise.all(names.map((name) => new Writer(trial.engine.journal(name)).append(message())))
      for (let turn = 0; turn < 2; turn++) {
        const answer = await trial.engine.changes(cursor)
        assert.equal(answer.reset, false)
        assert.deepEqual([...new Set(answer.names)].sort(), [...names].sort())
      }
    },
  },
  {
    name: 'a caller that asks while others write misses no change',
    async run(trial) {
      let { cursor } = await trial.engine.changes()
      const seen = new Set<string>()
      const names = Array.from({ length: 30 }, (_, index) => trial.engine.name('space', `session ${index}`))
      let writing = true
      const writes = Promise.all(names.map((name) => new Writer(trial.engine.journal(name)).append(message()))).finally(() => {
        writing = false
      })
      const asks = async () => {
        for (let last = false; !last; ) {
          last = !writing
          const answer = await trial.engine.changes(cursor)
          assert.equal(answer.reset, false)
          for (const name of answer.names) seen.add(name)
          cursor = answer.cursor
          await sleep(0)
        }
      }
      await Promise.all([writes, asks()])
      assert.deepEqual([...seen].sort(), [...names].sort())
    },
  },
  {
    name: 'an append that says moved is no change, and a quiet store says so',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(message())
      const { cursor } = await trial.engine.changes()
      const quiet = await settled(trial.engine, cursor)
      assert.equal((await trial.journal().append(0, 0, rawGroup(Buffer.from('never')))).moved, true)
      const answer = await trial.engine.changes(quiet)
      assert.deepEqual({ names: answer.names, reset: answer.reset }, { names: [], reset: false })
    },
  },
  {
    name: 'a seal and what follows in the next segment are announced',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      let { cursor } = await trial.engine.changes()
      for (const step of [() => writer.seal(), async () => writer.append(message())]) {
        await step()
        const answer = await trial.engine.changes(cursor)
        assert.ok(answer.names.includes(writer.journal.name))
        cursor = answer.cursor
      }
    },
  },
  {
    name: 'changes made by another engine are announced, in both directions',
    needs: 'shared',
    async run(trial) {
      const second = await trial.second()
      for (const [writing, asking] of [
        [trial.engine, second],
        [second, trial.engine],
      ] as const) {
        let { cursor } = await asking.changes()
        for (let turn = 0; turn < 5; turn++) {
          const journal = journalOf(writing, `session ${turn}`)
          await new Writer(journal).append(message())
          const answer = await asking.changes(cursor)
          assert.ok(answer.reset || answer.names.includes(journal.name), `turn ${turn}`)
          cursor = answer.cursor
        }
      }
    },
  },
  {
    name: 'a change before the store was opened again is announced, or the cursor says reset',
    needs: 'durable',
    async run(trial) {
      const { cursor } = await trial.engine.changes()
      const { name } = trial.journal()
      await new Writer(trial.journal()).append(message())
      const again = await trial.reopen()
      const answer = await again.changes(cursor)
      assert.ok(answer.reset || answer.names.includes(name))
      await announced(again, answer.cursor)
    },
  },
  {
    name: 'watch calls back after a change, until it is stopped',
    run: async (trial) => watched(trial.engine, trial.engine),
  },
  {
    name: 'watch calls back after a change made by another engine',
    needs: 'shared',
    run: async (trial) => watched(trial.engine, await trial.second()),
  },
]

/** An append is announced to a call with this cursor. */
async function announced(engine: Engine, cursor: string): Promise<void> {
  const journal = journalOf(engine, 'announced')
  await new Writer(journal).append(message())
  const answer = await engine.changes(cursor)
  assert.equal(answer.reset, false)
  assert.ok(answer.names.includes(journal.name))
}

/** A change may be announced more than once, but not for ever. */
async function settled(engine: Engine, cursor: string): Promise<string> {
  for (let waited = 0; waited < SOON_MS; waited += STEP_MS) {
    const answer = await engine.changes(cursor)
    assert.equal(answer.reset, false, 'nothing happened that could have been missed')
    if (answer.names.length === 0) return answer.cursor
    cursor = answer.cursor
    await sleep(STEP_MS)
  }
  assert.fail(`${SOON_MS} ms after the last change it is still announced`)
}

/** Hints may be missing, so each is provoked until it comes. When the second watcher is called, the stopped one had its chance. */
async function watched(watching: Engine, writing: Engine): Promise<void> {
  const writer = new Writer(journalOf(writing))
  const calls = { first: 0, second: 0 }
  const provoke = async (whom: 'first' | 'second') => {
    for (let waited = 0; waited < SOON_MS && calls[whom] === 0; waited += STEP_MS) {
      await writer.append(message())
      await sleep(STEP_MS)
    }
    assert.ok(calls[whom] > 0, `no hint within ${SOON_MS} ms`)
  }
  const stopFirst = watching.watch(() => {
    calls.first += 1
  })
  await provoke('first')
  stopFirst()
  const before = calls.first
  const stopSecond = watching.watch(() => {
    calls.second += 1
  })
  await provoke('second')
  stopSecond()
  assert.equal(calls.first, before, 'a watcher that was stopped is not called')
}
