/** The segment files of a store, seen from outside, while others write to them. */
import { closeSync, fstatSync, openSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** In order of their positions, if the store holds one journal. */
export function segmentFiles(store: string): string[] {
  const sessions = join(store, 'sessions')
  const names = readdirSync(sessions, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'))
  return names.sort().map((name) => join(sessions, name))
}

export function journalBytes(store: string): number {
  return segmentFiles(store).reduce((sum, file) => sum + statSync(file).size, 0)
}

/**
 * Returns as soon as the last segment has grown by so many bytes, or after a while; tells which. Looks without leaving the thread,
 * because a write takes less than a millisecond, and whoever wants to strike inside it has no time to lose.
 */
export function seeGrowth(store: string, bytes: number, patienceMs: number): boolean {
  const file = segmentFiles(store).at(-1)
  if (file === undefined) return false
  const fd = openSync(file, 'r')
  try {
    const { size } = fstatSync(fd)
    for (const until = performance.now() + patienceMs; performance.now() < until; ) {
      if (fstatSync(fd).size >= size + bytes) return true
    }
    return false
  } finally {
    closeSync(fd)
  }
}
