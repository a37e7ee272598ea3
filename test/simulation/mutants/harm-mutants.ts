/**
 * Bugs of watermarks to plant again, as mutants.ts does for those of the journal. The first eight are simpler rules, each of which breaks; the others
 * leave out one part of the rule. docs/decisions tell why each part is needed.
 */
import type { Mutant } from './mutants.ts'

const JOURNAL = 'src/engines/files/journal.ts'
const VANISHED = 'src/engines/files/vanished.ts'
const WATERMARKS = 'src/engines/files/watermarks.ts'
const FILE = 'src/engines/files/watermark-file.ts'
const SEGMENT = 'src/engines/files/segment.ts'
const REACH = 'src/engines/files/reach.ts'
const TAIL = 'src/journal/tail.ts'
const REPLICA = 'src/journal/replica.ts'

const FIRST_CHECK =
  "if (!(options.accepting === true || this.#reach.isVerified(open) || (await this.#reach.verify(open, 'none')))) return MOVED"
const SECOND_CHECK = "if (!isVerified) await this.#reach.verify(open, 'unknown')"

export const HARM_MUTANTS: readonly Mutant[] = [
  {
    name: 'the extent of a journal is the start of its last segment and its size',
    bug: 'A lost race landed behind the seal, and the successor started at the end of the seal: a false alarm.',
    seed: 1,
    harm: 'busy',
    edits: [
      {
        file: JOURNAL,
        find: 'if (stands && synced !== undefined) this.#reach.mark(group, at, open)',
        replace:
          'if (stands && synced !== undefined) this.#parts.watermarks.add(this.name, () => ({ start: at, end: open.ownEnd, idHash: 0 }), open.verified)',
      },
      {
        file: VANISHED,
        find: '  const index = segments.findLastIndex',
        replace:
          '  const last = segments.at(-1) as number\n  const tip = await contents.hold(last)\n  const extent = tip?.ownEnd ?? last\n  tip?.release()\n  if (last >= 0) return extent < mark.end ? extent : undefined\n  const index = segments.findLastIndex',
      },
    ],
  },
  {
    name: 'inode alone tells a copy',
    bug: 'Inodes come back: a false alarm on a backup that was put in place.',
    seed: 3,
    harm: 'copies',
    edits: [
      {
        file: FILE,
        find: 'header.inode !== inode || header.born !== createdMs) return false',
        replace: 'header.inode !== inode) return false',
      },
    ],
  },
  {
    name: 'the journal is read before the watermarks',
    bug: 'Another process appended in between: a false alarm.',
    seed: 1,
    harm: 'busy',
    edits: [
      {
        file: REACH,
        find: '    const known = await this.#watermarks.of(this.#name).catch(() => undefined)\n',
        replace:
          '    const before = new Map<number, Buffer>()\n    for (const first of await this.#contents.segments()) {\n      const open = await this.#contents.hold(first)\n      if (open === undefined) continue\n      before.set(first, await open.file.read(0, open.file.stat().size))\n      open.release()\n    }\n    const known = await this.#watermarks.of(this.#name).catch(() => undefined)\n',
      },
      {
        file: REACH,
        find: 'findVanished(known.marks, this.#contents)',
        replace:
          'findVanished(known.marks, {\n      ...this.#contents,\n      segments: async () => [...before.keys()].sort((a, b) => a - b),\n      hold: async (segment: number) => {\n        const bytes = before.get(segment)\n        if (bytes === undefined) return undefined\n        return { file: { read: async (at: number, length: number) => bytes.subarray(Math.max(0, at), at + length) }, ownEnd: segment + bytes.length, first: segment, noteEnd: () => true, release: () => {} } as unknown as Segment\n      },\n    })',
      },
    ],
  },
  {
    name: 'sizes are compared',
    bug: 'Misplaced bytes of a stale writer lifted the size over the watermark: nothing was noticed.',
    seed: 25,
    harm: 'cut',
    edits: [
      {
        file: VANISHED,
        find: "if (look !== 'gone') return undefined",
        replace: "if (look !== 'gone' || open.ownEnd >= mark.end) return undefined",
      },
    ],
  },
  {
    name: 'only the largest watermark counts',
    bug: 'A writer that had looked before the harm appended once behind the cut; its own watermark is larger, and holds.',
    seed: 43,
    harm: 'late',
    edits: [
      {
        file: FILE,
        find: '  const left = entries.filter((entry) => last === undefined || !covers(last, entry))',
        replace:
          '  if (last !== undefined) return [last]\n  const left = entries.filter((entry) => last === undefined || !covers(last, entry))',
      },
    ],
  },
  {
    name: 'a later segment satisfies a watermark',
    bug: 'An unacknowledged record with a seal behind the cut let any process roll: nothing was noticed.',
    seed: 7,
    harm: 'late',
    edits: [
      {
        file: VANISHED,
        find: "if (look !== 'gone') return undefined",
        replace: "if (look !== 'gone' || index < segments.length - 1) return undefined",
      },
    ],
  },
  {
    name: 'a link count of 0 tells that a file was deleted',
    bug: 'A hard link in a backup kept it above 0: the writer continued in a file outside of the store.',
    seed: 11,
    harm: 'links',
    edits: [
      {
        file: SEGMENT,
        find: 'return stat !== undefined && isSameFile(stat, this.#stat) ? this.first + stat.size : undefined',
        replace: 'return stat !== undefined && this.file.stat().links === 0 ? undefined : this.ownEnd',
      },
    ],
  },
  {
    name: 'the successor starts where the watermark ends',
    bug: 'It collided with late watermarks, and with positions that were acknowledged and not written down yet.',
    seed: 2,
    harm: 'accept',
    edits: [{ file: 'src/journal/accept-loss.ts', find: 'nextEpoch(loss.to, tail.end)', replace: 'Math.max(loss.to, tail.end + 2000)' }],
  },
  {
    name: 'a watermark is written before the sync',
    bug: 'The power failed in between: the watermark survived, and its line did not.',
    seed: 7,
    harm: 'slow',
    edits: [
      {
        file: JOURNAL,
        find: '          await this.#announced(synced ??',
        replace:
          '          if (stands && synced !== undefined) this.#reach.mark(group, at, open)\n          await this.#announced(synced ??',
      },
    ],
  },
  {
    name: 'a lease that was not synced makes a watermark',
    bug: 'The power took the lease, and not its watermark.',
    seed: 14,
    harm: 'power',
    edits: [{ file: JOURNAL, find: 'if (stands && synced !== undefined) this.#reach.mark', replace: 'if (stands) this.#reach.mark' }],
  },
  {
    name: 'an append ignores watermarks',
    bug: 'What had vanished was written over.',
    seed: 2,
    harm: 'cut',
    edits: [
      { file: JOURNAL, find: FIRST_CHECK, replace: '' },
      { file: JOURNAL, find: SECOND_CHECK, replace: '' },
      {
        file: REPLICA,
        find: '    if (writes && tail.loss !== undefined) throw lossError(tail.loss)\n    if ((writes',
        replace: '    if ((writes',
      },
      {
        file: REPLICA,
        find: '    // The loss may have come to light just now.\n    if (writes && tail.loss !== undefined) throw lossError(tail.loss)\n',
        replace: '',
      },
    ],
  },
  {
    name: 'watermarks are checked once per append',
    bug: 'Another process wrote its watermark between the check and the write.',
    seed: 55,
    harm: 'late',
    edits: [{ file: JOURNAL, find: SECOND_CHECK, replace: '' }],
  },
  {
    name: 'compaction forgets watermarks',
    bug: 'What vanished after a compaction was not noticed.',
    seed: 3,
    harm: 'compaction',
    edits: [
      {
        file: WATERMARKS,
        find: 'const marks = uncovered(entries).map((entry) => target.encodeMark(hash, entry, 0))',
        replace: 'const marks: Buffer[] = []',
      },
    ],
  },
  {
    name: 'a copy is trusted',
    bug: 'A copy that was taken while the store was used raised an alarm.',
    seed: 3,
    harm: 'copies',
    edits: [
      {
        file: FILE,
        find: 'header.inode !== inode || header.born !== createdMs) return false',
        replace: 'inode < 0) return false',
      },
    ],
  },
  {
    name: 'a compaction is not synced',
    bug: 'The power failed: the old file was removed, and the new one was empty.',
    seed: 1,
    harm: 'compaction',
    edits: [
      {
        file: WATERMARKS,
        find: '        await writeAll(file, Buffer.concat(entries))\n        await file.sync()\n',
        replace: '        await writeAll(file, Buffer.concat(entries))\n',
      },
    ],
  },
  {
    name: 'nothing is loaded again where the epoch changes',
    bug: 'A process that had read what vanished continued in the next epoch with what it had read.',
    seed: 1,
    harm: 'epoch',
    edits: [
      { file: TAIL, find: 'if (isAcceptance(seal) || !(await', replace: 'if (!(await' },
      {
        file: TAIL,
        find: 'const isStale = isAcceptance(this.#reading.fold.seal) && this.#reading.hasGrown',
        replace: 'const isStale = false',
      },
    ],
  },
  {
    name: 'a checkpoint hides a loss that is being accepted',
    bug: 'A segment that had been begun was finished before the acceptance was written. Its checkpoint hid the loss, and nothing was accepted.',
    seed: 2570,
    harm: 'accept',
    edits: [{ file: 'src/journal/next-segment.ts', find: '(isAfterLoss || !state.isRooted)', replace: '!state.isRooted' }],
  },
  {
    name: 'a shrunk file is not noticed',
    bug: 'A process appended behind what had been cut off, and showed what was no longer there.',
    seed: 261,
    harm: 'cut',
    edits: [
      { file: 'src/journal/segment-cursor.ts', find: '    if (end < next) return false\n', replace: '    if (end <= next) return true\n' },
      {
        file: SEGMENT,
        find: 'return this.file.readSync(end - this.first - bytes.length, bytes.length).equals(bytes)',
        replace: 'return this.ownEnd < end || this.file.readSync(end - this.first - bytes.length, bytes.length).equals(bytes)',
      },
    ],
  },
  {
    name: 'the start of a journal is not checked',
    bug: 'Early segments that were deleted looked purged.',
    seed: 2,
    harm: 'beginning',
    edits: [{ file: 'src/journal/loss.ts', find: '(!rooted || reducer.mayStartAt?.(state, start) === false)', replace: '!rooted' }],
  },
]
