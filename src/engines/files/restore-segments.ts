/**
 * Puts the segments of one journal from a backup back into a store that is in use. First everything is compared, and nothing is changed if the
 * two cannot become one. Then segment by segment, the last one first, so that a writer never meets an end that was not the end:
 *
 *   1. damaged lines are copied to the quarantine, then written over, each only if it is still what was compared
 *   2. what is missing at the end, or the whole file, is appended in one write, if the file still ends where it ended
 *   3. the file and the names that lead to it are synced, then read back and compared
 *   4. the change is announced
 *
 * A file is made and filled in place, not renamed into place: so no file of a writer is ever replaced. If the process dies after step 1, some of
 * the lines are whole again; inside of step 2, the file holds a longer beginning than before, and is never wrong; after step 2 or 3, other
 * processes may notice late. Repeating the call completes the rest.
 */
import { join } from 'node:path'
import { systemClock } from '../../engine/clock.ts'
import { systemIds } from '../../engine/ids.ts'
import { isJournalName } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import { LIMITS } from '../../record/limits.ts'
import { epochOf } from '../../record/watermark.ts'
import { readWhole } from './backup-files.ts'
import { type Comparison, compareSegment, type Patch } from './compare-segment.ts'
import { Directories } from './directories.ts'
import type { Disk } from './disk.ts'
import { noSpace, unwritable } from './failures.ts'
import { Feed } from './feed.ts'
import { segmentFile } from './names.ts'

/** A segment as the store should have it, and as the backup has it. */
export interface WantedSegment {
  readonly first: number
  readonly wanted: Buffer
  readonly former: Buffer
  /** Offsets of lines that must not be put back, because a later record repeats them. */
  readonly without?: ReadonlySet<number>
}

export interface PlannedSegment extends Comparison, WantedSegment {
  /** How long the file is in the store; undefined if there is none. */
  readonly size: number | undefined
}

export interface RestoreTarget {
  readonly disk: Disk
  /** The directory of the store. */
  readonly root: string
  /** Of the journal. */
  readonly name: string
}

/** What the store lacks of these segments. Changes nothing. CONFLICT if the store has something else. */
export async function planSegments(
  target: RestoreTarget,
  segments: readonly WantedSegment[],
  live: readonly number[],
): Promise<PlannedSegment[]> {
  const planned: PlannedSegment[] = []
  for (const segment of segments) {
    const { first, wanted, former, without } = segment
    const there = await readSegment(target, first)
    const comparison = compareSegment(there ?? Buffer.of(), wanted, former, without)
    if (comparison.conflict !== undefined) throw conflict(target.name, first, comparison.conflict)
    refuseRepeated(target.name, segment, comparison)
    planned.push({ ...comparison, ...segment, size: there?.length })
  }
  const changed = planned.filter((one) => one.patches.length > 0 || one.rest.length > 0)
  if (changed.length > 0) refuseOther(target.name, planned, live)
  return changed
}

/** A line in the middle of what is missing cannot be left out: the lines after it would be in the wrong place. */
function refuseRepeated(name: string, { first, wanted, without }: WantedSegment, { rest }: Comparison): void {
  const from = wanted.length - rest.length
  for (const offset of without ?? []) if (wanted.indexOf('\n', offset) >= from) throw conflict(name, first, offset)
}

/** A segment that the backup lacks must follow those that it has, in the same epoch. */
function refuseOther(name: string, planned: readonly PlannedSegment[], live: readonly number[]): void {
  const known = new Set(planned.map(({ first }) => first))
  const { first: lowest } = planned[0] as PlannedSegment
  const last = planned.at(-1) as PlannedSegment
  for (const first of live) {
    if (known.has(first) || first < lowest) continue
    const follows = first >= last.first + last.wanted.length && epochOf(first) === epochOf(last.first)
    if (!follows) throw conflict(name, first, 0)
  }
}

/** Positions that a plan writes, the last one excluded. */
export function writtenRanges(planned: readonly PlannedSegment[]): { from: number; to: number }[] {
  return planned.flatMap(({ first, patches, rest, wanted }) => {
    const end = first + wanted.length
    const ranges = patches.map(({ offset, bytes }) => ({ from: first + offset, to: first + offset + bytes.length }))
    return rest.length === 0 ? ranges : [...ranges, { from: end - rest.length, to: end }]
  })
}

/** The segments as a plan would leave them, in memory. */
export async function plannedBytes(target: RestoreTarget, planned: readonly PlannedSegment[]): Promise<Map<number, Buffer>> {
  const segments = new Map<number, Buffer>()
  for (const { first, patches, rest } of planned) {
    const bytes = Buffer.concat([(await readSegment(target, first)) ?? Buffer.of(), rest])
    for (const { offset, bytes: line } of patches) bytes.set(line, offset)
    segments.set(first, bytes)
  }
  return segments
}

/** Carries out a plan. `setAside` keeps a copy of damaged bytes before they are written over. */
export async function restoreSegments(
  target: RestoreTarget,
  planned: readonly PlannedSegment[],
  setAside: (segment: number, patch: Patch) => Promise<void>,
  onProgress: (bytes: number) => void = () => undefined,
): Promise<void> {
  const directories = new Directories(target.disk, target.root)
  for (const segment of planned.toReversed()) {
    for (const patch of segment.patches) {
      await setAside(segment.first, patch)
      await writeOver(target, segment.first, patch)
    }
    if (segment.rest.length > 0) await fill(target, directories, segment)
    await verify(target, segment)
    await announce(target)
    onProgress(segment.rest.length)
  }
}

async function writeOver({ disk, root, name }: RestoreTarget, first: number, { offset, was, bytes }: Patch): Promise<void> {
  const done = await disk.overwrite(pathOf({ root, name }, first), offset, was, bytes).catch((error: unknown) => {
    throw unwritable(error, 'The journal', 'unknown')
  })
  if (!done) throw changedMeanwhile(name)
}

/** Appends what is missing, in one write: no other writer can get between two pieces of it. */
async function fill(
  { disk, root, name }: RestoreTarget,
  directories: Directories,
  { first, rest, size = 0 }: PlannedSegment,
): Promise<void> {
  try {
    await directories.make(`sessions/${name}`)
    const file = await disk.open(pathOf({ root, name }, first), 'create')
    try {
      if (file.stat().size !== size) throw changedMeanwhile(name)
      if (file.writeSync(rest) < rest.length) throw noSpace()
      await file.sync()
    } finally {
      await file.close()
    }
    await directories.sync(join(root, 'sessions', name))
  } catch (error) {
    throw unwritable(error, 'The journal', 'unknown')
  }
}

/** What is there now must begin with what was wanted, as far as the backup could say. */
async function verify(target: RestoreTarget, { first, wanted, former, without }: PlannedSegment): Promise<void> {
  const { patches, rest, conflict: other } = compareSegment((await readSegment(target, first)) ?? Buffer.of(), wanted, former, without)
  if (other !== undefined || patches.length > 0 || rest.length > 0) throw changedMeanwhile(target.name)
}

/** Other processes, and the catalog, look at the journal again. */
export async function announce({ disk, root, name }: RestoreTarget): Promise<void> {
  const { feedBytes: fileBytes, feedFiles: files } = LIMITS
  const directory = join(root, 'feed')
  const feed = await Feed.open({ disk, clock: systemClock, ids: systemIds, directory, fileBytes, files, isName: isJournalName })
  try {
    await feed.announce(name)
  } finally {
    await feed.close()
  }
}

export function readSegment(target: RestoreTarget, first: number): Promise<Buffer | undefined> {
  return readWhole(target.disk, pathOf(target, first))
}

function pathOf({ root, name }: Pick<RestoreTarget, 'root' | 'name'>, first: number): string {
  return join(root, 'sessions', name, segmentFile(first))
}

function conflict(name: string, segment: number, offset: number): HoldfastError {
  return new HoldfastError(
    'CONFLICT',
    `The store and the backup hold different records of this session, from byte ${offset} of ${segmentFile(segment)} on. Nothing was changed. If the files in the store are of no use, move the directory of the session out of the store and run this command again. To keep both, restore the backup to another directory (holdfast restore-backup <directory> --store <other>), then export the session there and import it here.`,
    { details: { reason: 'other records', journal: name, segment, offset } },
  )
}

function changedMeanwhile(name: string): HoldfastError {
  return new HoldfastError('CONFLICT', 'Another process wrote to this session during the restore. Run the command again.', {
    outcome: 'unknown',
    details: { journal: name, reason: 'changed' },
  })
}
