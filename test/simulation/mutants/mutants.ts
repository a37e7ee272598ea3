/**
 * Bugs to plant again. Each was made once, in an earlier version of the protocol or on the way to this one, or is the shortest way to
 * break a promise. Each names the seed under which the simulation caught it last. A change of the code moves the seeds, so the test run
 * tries some after it as well; a bug that survives them all fails the run. `node build/test/simulation/mutants/main.js` prints the first
 * seed that catches each.
 */
import type { Focus } from '../harm/plan.ts'
import type { Trouble } from '../plan.ts'

interface Edit {
  readonly file: string
  /** Must occur exactly once. */
  readonly find: string
  readonly replace: string
}

export interface Mutant {
  readonly name: string
  /** What it did. */
  readonly bug: string
  readonly seed: number
  /** It shows in runs of the whole store. */
  readonly store?: boolean
  /** With workers in them. */
  readonly workers?: boolean
  /** What must go wrong for it to show, so that few seeds are needed. */
  readonly trouble?: Trouble
  /** It shows in runs with harms; what those must be about. */
  readonly harm?: Focus
  readonly edits: readonly Edit[]
}

const FOLD = 'src/record/fold.ts'
const JOURNAL = 'src/engines/files/journal.ts'
const TAIL = 'src/journal/tail.ts'
const NEXT_SEGMENT = 'src/journal/next-segment.ts'
const REPLICA = 'src/journal/replica.ts'

const noBarrier: Edit = {
  file: 'src/journal/unsynced.ts',
  find: 'this.barrier = await this.#journal.sync(segment)',
  replace: 'this.barrier = true',
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'no stamp',
    bug: 'A line counted wherever it stood: a lost race happened all the same.',
    seed: 160,
    edits: [{ file: FOLD, find: "if (pos !== at) return { kind: 'nothing', why: 'misplaced' }", replace: '' }],
  },
  {
    name: 'conditions judged by readers',
    bug: 'A record counted only if the one before it did: one rotten bit changed the verdict on others.',
    seed: 2,
    edits: [
      {
        file: FOLD,
        find: '    const counted = { kind',
        replace:
          "if (this.prev !== '' && record.prev !== this.prev) return { kind: 'nothing', why: 'misplaced' }\n    const counted = { kind",
      },
    ],
  },
  {
    name: 'ordinals as positions',
    bug: 'Positions counted lines instead of bytes: a rotten newline moved every later one.',
    seed: 1,
    edits: [
      { file: FOLD, find: '    const decoded = decodeLine(bytes)', replace: '    this.ordinal++\n    const decoded = decodeLine(bytes)' },
      { file: FOLD, find: "  prev = ''\n", replace: "  prev = ''\n  ordinal = 0\n" },
      {
        file: FOLD,
        find: '    return counted\n',
        replace: '    return { ...counted, at: this.ordinal }\n',
      },
    ],
  },
  {
    name: 'bare newline as lead-in',
    bug: 'The next lead-in completed a line that lacked only its newline: a record answered NO_SPACE counted once space came back.',
    seed: 17,
    trouble: 'full',
    edits: [{ file: 'src/record/line.ts', find: "LEAD_IN = Buffer.from(' \\n')", replace: "LEAD_IN = Buffer.from('\\n')" }],
  },
  {
    name: 'no directory sync by the opener',
    bug: 'Acknowledged in a segment whose name then vanished.',
    seed: 1,
    trouble: 'power',
    edits: [
      {
        file: 'src/engines/files/segment.ts',
        find: 'if (this.#durableTo === undefined) await this.#directories.sync(this.#directory)',
        replace: '',
      },
    ],
  },
  {
    name: 'directories durable before those above them',
    bug: 'After a sync that failed half-way up, the directories below were taken for durable.',
    seed: 90,
    trouble: 'directories',
    edits: [
      {
        file: 'src/engines/files/directories.ts',
        find: '      synced.push(inner)',
        replace: '      this.#durable.add(inner)',
      },
    ],
  },
  {
    name: 'no barrier for readers',
    bug: 'What was shown vanished at a power loss.',
    seed: 1,
    trouble: 'shown',
    edits: [noBarrier],
  },
  {
    name: 'roll without syncing the old segment',
    bug: 'The seal vanished, the next segment did not.',
    seed: 472,
    trouble: 'power',
    edits: [noBarrier, { file: NEXT_SEGMENT, find: '    await journal.sync(fold.segment)\n', replace: '' }],
  },
  {
    name: 'poison without carrying',
    bug: "Duplicates' and others' acknowledgements were lost.",
    seed: 2,
    trouble: 'sync',
    edits: [
      {
        file: NEXT_SEGMENT,
        find: 'const carried = from === undefined ? [] : await countedLines(journal, from, first)',
        replace: 'const carried: { at: number; bytes: Buffer }[] = []',
      },
    ],
  },
  {
    name: 'a failed sync is tried again and believed',
    bug: 'The second sync succeeded, because the pages counted as written.',
    seed: 2,
    trouble: 'sync',
    edits: [
      {
        file: 'src/engines/files/segment.ts',
        find: '      await this.file.sync()\n',
        replace: '      await this.file.sync().catch(() => this.file.sync())\n',
      },
    ],
  },
  {
    name: 'delete by removing the files',
    bug: 'Late writers were told that they had written, into files that were gone; helpers wrote into the next incarnation.',
    seed: 389,
    trouble: 'purge',
    edits: [
      {
        file: JOURNAL,
        find: 'if (successor === undefined || successor > before) break',
        replace: 'if (first > before || successor === before) break',
      },
    ],
  },
  {
    name: 'truncating on a full disk',
    bug: "Others' records were cut off with one's own.",
    seed: 25,
    trouble: 'full',
    edits: [
      {
        file: JOURNAL,
        find: 'if (full) return { moved: false',
        replace: "if (full) Reflect.get(open.file, 'file').cut(at - open.first)\n    if (full) return { moved: false",
      },
    ],
  },
  {
    name: 'acknowledging before the sync',
    bug: 'What was acknowledged vanished at a power loss.',
    seed: 31,
    trouble: 'power',
    edits: [{ file: JOURNAL, find: 'catch(() => undefined)\n    return synced', replace: 'catch(() => undefined)\n    return undefined' }],
  },
  {
    name: 'late helpers do not look',
    bug: 'A helper that had slept made a purged segment again, wrote into it, and others took it for the end of the journal.',
    seed: 123,
    trouble: 'purge',
    edits: [
      { file: JOURNAL, find: 'if ((await this.#segments()).some((first) => first > segment)) {', replace: 'if (segment < 0) {' },
      {
        file: 'src/journal/segment-cursor.ts',
        find: 'if ((hasNews || this.#confirmed !== opened) && !(await this.isEnd())) return false',
        replace: '',
      },
      {
        file: 'src/engines/files/reach.ts',
        find: 'const isLast = !(await this.#contents.segments()).some((first) => first > open.first)',
        replace: 'const isLast = true',
      },
      { file: TAIL, find: "return (await this.#cursor.isEnd()) ? 'end' : 'changed'", replace: "return 'end'" },
    ],
  },
  {
    name: 'carried lines stand on their checkpoint',
    bug: 'A rotten bit in a checkpoint cost the lines that it carried, where the power had taken their own place.',
    seed: 124,
    trouble: 'sync',
    edits: [
      {
        file: FOLD,
        find: '    this.carriedFrom = Math.min(',
        replace: "    if (this.#candidate === undefined) return { kind: 'nothing', why: 'repeated' }\n    this.carriedFrom = Math.min(",
      },
    ],
  },
  {
    name: 'an error after the write is told as definite',
    bug: 'A caller was told that nothing had happened, and the record counted.',
    seed: 6,
    trouble: 'calls',
    edits: [
      { file: REPLICA, find: 'throw withOutcomeUnknown(error)', replace: 'throw error' },
      { file: JOURNAL, find: 'throw withOutcomeUnknown(error)', replace: 'throw error' },
    ],
  },
  {
    name: 'a change is announced after it is acknowledged',
    bug: 'A list that was asked for later did not know of it.',
    seed: 2,
    edits: [
      {
        file: JOURNAL,
        find: 'await feed.announce(this.name, time)',
        replace:
          'queueMicrotask(() => void Promise.resolve().then(() => new Promise((resolve) => setImmediate(resolve))).then(() => feed.announce(this.name, time)))',
      },
    ],
  },
]
