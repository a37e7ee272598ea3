/** Bugs of the store to plant again, as mutants.ts does for those of the journal: each was made once, or is the shortest way to break a promise. */
import type { Mutant } from './mutants.ts'

const FAMILY = 'src/store/family.ts'
const RECORDS = 'src/journal/records.ts'

const GRANT = 'await parent.submit({ born, expect }, (full) => decide.grant(full, { session: fork.id, kind, message }))'

export const STORE_MUTANTS: readonly Mutant[] = [
  {
    name: 'the grant is written after the child',
    bug: 'A process died in between, or a purge came: the fork stood on a past that nobody kept for it.',
    seed: 2,
    store: true,
    trouble: 'kills',
    edits: [
      {
        file: FAMILY,
        find: GRANT,
        replace:
          'await parent.submit({ born }, () => ({ readOnly: true, decide: (before) => ({ answer: { version: before.version, duplicate: false, before } }) }))',
      },
      {
        file: FAMILY,
        find: 'await fork.submit({ ...terms, at: when }, (full) => decide.create(full, session))',
        replace: `await fork.submit({ ...terms, at: when }, (full) => decide.create(full, session))\n    ${GRANT}`,
      },
    ],
  },
  {
    name: 'a purge ignores grants',
    bug: 'The messages that a fork shares with its parent were destroyed with the parent.',
    seed: 3,
    store: true,
    trouble: 'purge',
    edits: [
      {
        file: 'src/store/lifecycle/purge.ts',
        find: "return grants.some((grant) => grant.kind === 'fork' && (due === 'all' || grant.born < born))",
        replace: 'return grants.length < 0 && due === undefined && born < 0',
      },
    ],
  },
  {
    name: 'undo does not pop',
    bug: 'The second undo went to where the first one had gone.',
    seed: 2,
    store: true,
    edits: [{ file: 'src/session/apply.ts', find: "why === 'undo' ? state.undo.slice(0, -1) :", replace: "why === 'undo' ? state.undo :" }],
  },
  {
    name: 'tags are written from a cached state',
    bug: 'What somebody else had written in between was written over.',
    seed: 46,
    store: true,
    edits: [
      {
        file: 'src/store/session.ts',
        find: "return written(await this.#handle.submit(this.#handle.terms('describe', checked, options), (full) => decide.describe(full, checked)))",
        replace:
          "const { tags } = await this.#handle.liveState()\n    return written(await this.#handle.submit(this.#handle.terms('describe', checked, options), (full) => decide.describe(full, { ...checked, tags })))",
      },
    ],
  },
  {
    name: 'the digest of a key is ignored',
    bug: 'Another message under a key that was used before was answered with the first one, and was not written.',
    seed: 3,
    store: true,
    edits: [
      {
        file: 'src/session/command.ts',
        find: 'return first.digest === terms.digest ? repeated(',
        replace: "return first.digest !== '' ? repeated(",
      },
    ],
  },
  {
    name: 'two checkpoints pass for a purge',
    bug: 'Where two helpers had made a segment, a purge removed what stood before it and did not say so: the session could be restored, empty.',
    seed: 248,
    store: true,
    trouble: 'purge',
    edits: [
      {
        file: 'src/journal/reading.ts',
        find: '(this.lastSeal?.why === why && this.fold.checkpointCopies > 1)',
        replace: 'this.fold.checkpointCopies > 1',
      },
    ],
  },
  {
    name: 'carried lines are not looked for past a lost preamble',
    bug: 'An acknowledged message was in the state and in a later segment, and was not shown.',
    seed: 76,
    store: true,
    trouble: 'sync',
    edits: [
      {
        file: RECORDS,
        find: 'empty = carried.length === 0 && told ? empty + 1 : 0',
        replace: 'empty = carried.length === 0 ? EMPTY_PREAMBLES : 0',
      },
    ],
  },
  {
    name: 'carried lines are not looked for behind another checkpoint',
    bug: 'Of two helpers, the first had nothing to carry: what the second one carried was not shown.',
    seed: 260,
    store: true,
    trouble: 'sync',
    edits: [
      {
        file: RECORDS,
        find: "if (record.type === 'checkpoint') told = true\n",
        replace:
          "if (record.type === 'checkpoint') {\n          told = true\n          if (record.carries === 0) return { carried, told }\n        }\n",
      },
    ],
  },
  {
    name: 'a summary counts although there is one',
    bug: 'A worker that was taken for dead came to its end after another one had: memories were drawn from the same messages twice.',
    seed: 272,
    store: true,
    workers: true,
    edits: [
      {
        file: 'src/session/decide-commit.ts',
        find: "(archive.status === 'pending' || archive.status === 'running') && archive.erased === erased",
        replace: 'archive.erased === erased',
      },
    ],
  },
  {
    name: 'memories are drawn from what an archive only covers',
    bug: 'What a fork inherits, or a revert had cut, was extracted once more.',
    seed: 2,
    store: true,
    workers: true,
    edits: [
      { file: 'src/commit/archive-summary.ts', find: '[[archive.covers, false] as const,', replace: '[[archive.covers, true] as const,' },
    ],
  },
  {
    name: 'the task of a dead worker is never taken',
    bug: 'An archive waited for its summary for ever.',
    seed: 2,
    store: true,
    workers: true,
    trouble: 'kills',
    edits: [{ file: 'src/commit/due-work.ts', find: "(status === 'pending' || status === 'running')", replace: "status === 'pending'" }],
  },
]
