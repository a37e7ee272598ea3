/** Names: every session has one of its own, whatever its id looks like, and every journal is listed. */
import assert from 'node:assert/strict'
import type { Engine } from '../port.ts'
import { collect, countedIds, draft, message } from './records.ts'
import type { Case } from './trial.ts'
import { Writer } from './writer.ts'

/** Ids that a file system, a shell, a database or a careless separator would take for another one. All of them are legal. */
const HOSTILE: readonly string[] = [
  'plain',
  'PLAIN',
  'Plain',
  'plain ',
  ' plain',
  'plain.',
  'plain\0',
  'plain\0rest',
  ' ',
  '  ',
  '\t',
  '\n',
  '\0',
  '.',
  '..',
  '...',
  '-',
  '--',
  '../escape',
  '../../escape',
  '..\\escape',
  '/etc/passwd',
  'C:\\x',
  'C:/x',
  'a/b',
  'a\\b',
  'a:b',
  'a%2Fb',
  'a*b?c"d<e>f|g',
  '%s',
  '%',
  '_',
  "'; drop table journals; --",
  '$(true)',
  '["space","id"]',
  '__proto__',
  'constructor',
  'CON',
  'con',
  'NUL',
  'nul.txt',
  'COM1',
  'LPT1.jsonl',
  '0000000000000000.jsonl',
  'holdfast.json',
  '\u00e9',
  'e\u0301',
  '\u200b',
  '\u202eabc',
  '\ufeff',
  '👩‍👩‍👧‍👦',
  '😀'.repeat(128),
  'x'.repeat(512),
  `${'x'.repeat(511)}y`,
  `${'X'.repeat(511)}y`,
]

/** Pairs that are the same once space and id are glued together by the wrong character. */
const GLUED: readonly (readonly [string, string])[] = ['\0', '/', ':', '-', '.', ',', '","', ' ', '|'].flatMap((glue) => [
  [`a${glue}b`, 'c'] as const,
  ['a', `b${glue}c`] as const,
])

export const nameCases: readonly Case[] = [
  {
    name: 'a handle alone makes no journal',
    async run(trial) {
      trial.journal('looked at')
      await trial.journal('looked at').segments()
      await new Writer(trial.journal('written')).append(draft('session.created'))
      assert.deepEqual(await collect(trial.engine.names()), [trial.engine.name('space', 'written')])
    },
  },
  {
    name: 'names lists every journal once, of the store or of one space',
    async run(trial) {
      const expected = new Map<string, string[]>()
      for (const space of ['one', 'two', 'On', 'one ', 'on', '_store']) {
        const names = Array.from({ length: 7 }, (_, index) => trial.engine.name(space, `session ${index}`))
        await Promise.all(names.map((name) => new Writer(trial.engine.journal(name)).append(draft('session.created'))))
        expected.set(space, names)
      }
      for (const [space, names] of expected) assert.deepEqual((await collect(trial.engine.names(space))).sort(), [...names].sort())
      assert.deepEqual((await collect(trial.engine.names())).sort(), [...expected.values()].flat().sort())
      assert.deepEqual(await collect(trial.engine.names('o')), [])
    },
  },
  {
    name: 'names lists a journal whose first segments were purged',
    async run(trial) {
      const writer = new Writer(trial.journal())
      await writer.append(draft('session.created'))
      await writer.next()
      await writer.journal.purge(writer.segment)
      assert.deepEqual(await collect(trial.engine.names('space')), [trial.engine.name('space', 'session')])
    },
  },
  {
    name: 'names sees every journal that existed when it was called, whatever is made meanwhile',
    async run(trial) {
      const make = (id: string) => new Writer(trial.journal(id)).append(draft('session.created'))
      const before = Array.from({ length: 20 }, (_, index) => `before ${index}`)
      for (const id of before) await make(id)
      const seen: string[] = []
      for await (const name of trial.engine.names()) {
        seen.push(name)
        if (seen.length < 10) await make(`meanwhile ${seen.length}`)
      }
      for (const id of before) assert.equal(seen.filter((name) => name === trial.engine.name('space', id)).length, 1, id)
    },
  },
  {
    name: 'hostile ids have names of their own, and journals that work',
    run: async ({ engine }) =>
      distinct(
        engine,
        HOSTILE.map((id) => ['space', id] as const),
      ),
  },
  {
    name: 'hostile spaces have names of their own, and journals that work',
    run: async ({ engine }) =>
      distinct(
        engine,
        HOSTILE.map((space) => [space, 'id'] as const),
      ),
  },
  {
    name: 'no space and id make the name of another space and id',
    run: async ({ engine }) => distinct(engine, GLUED),
  },
  {
    name: 'a name is the same for every engine on the store',
    needs: 'shared',
    async run(trial) {
      const second = await trial.second()
      for (const id of HOSTILE) assert.equal(second.name('space', id), trial.engine.name('space', id))
      await new Writer(trial.journal('made here')).append(draft('session.created'))
      assert.deepEqual(await collect(second.names()), [trial.engine.name('space', 'made here')])
    },
  },
  {
    name: 'a name is the same after the store was opened again',
    needs: 'durable',
    async run(trial) {
      const names = HOSTILE.map((id) => trial.engine.name('space', id))
      const again = await trial.reopen()
      assert.deepEqual(
        HOSTILE.map((id) => again.name('space', id)),
        names,
      )
    },
  },
]

/** Writes another record to each session and finds each where it was put. */
async function distinct(engine: Engine, sessions: readonly (readonly [string, string])[]): Promise<void> {
  const names = sessions.map(([space, id]) => engine.name(space, id))
  for (const [index, name] of names.entries()) {
    const [space, id] = sessions[index] ?? ['', '']
    assert.equal(names.indexOf(name), index, `${JSON.stringify([space, id])} has the name of another session`)
    assert.equal(engine.name(space, id), name, 'a name is stable')
  }
  const records = names.map(() => message())
  for (const [index, name] of names.entries()) await new Writer(engine.journal(name)).append(records[index] ?? message())
  for (const [index, name] of names.entries()) {
    assert.deepEqual(await countedIds(engine.journal(name)), [records[index]?.id], JSON.stringify(sessions[index]))
  }
  assert.deepEqual((await collect(engine.names())).sort(), [...names].sort())
  const spaces = new Set(sessions.map(([space]) => space))
  for (const space of spaces) {
    const expected = names.filter((_, index) => sessions[index]?.[0] === space)
    assert.deepEqual((await collect(engine.names(space))).sort(), expected.sort(), `names of the space ${JSON.stringify(space)}`)
  }
}
