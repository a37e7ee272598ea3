/**
 * Drafts of id files. An id file is written beside its place, then renamed into it, so a process that is killed in between leaves a draft. The next
 * process that lists the journal removes it once it is old.
 *
 * No lock says whether the writer of a draft still lives. A draft takes seconds to write, so one that was created an hour ago has no writer. If its
 * process was only stopped for that long, its rename fails, and it keeps these keys in memory, as after any failed write.
 */
import { join } from 'node:path'
import type { Clock } from '../../engine/clock.ts'
import type { Ids } from '../../engine/ids.ts'
import type { Disk } from './disk.ts'

const DRAFT = /^\d{16}\.ids\.[0-9a-f]+\.tmp$/
const ABANDONED_MS = 60 * 60 * 1000

export function isDraft(name: string): boolean {
  return DRAFT.test(name)
}

/** Where to write what is to become the id file at `path`. */
export function draftOf(path: string, ids: Ids): string {
  return `${path}.${ids.hex(12)}.tmp`
}

interface Place {
  readonly disk: Disk
  readonly clock: Pick<Clock, 'now'>
  readonly directory: string
}

/** Removes the drafts among these names of a directory that no living process writes. */
export async function removeAbandoned({ disk, clock, directory }: Place, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (!isDraft(name)) continue
    const path = join(directory, name)
    // A store that can only be read keeps its drafts. Nothing reads them.
    if (isAbandoned(disk, clock, path)) await disk.remove(path).catch(() => undefined)
  }
}

function isAbandoned(disk: Disk, clock: Pick<Clock, 'now'>, path: string): boolean {
  try {
    const stat = disk.statSync(path)
    return stat !== undefined && clock.now() - stat.createdMs > ABANDONED_MS
  } catch {
    return false
  }
}
