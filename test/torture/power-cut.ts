/**
 * What a power cut leaves of a store in a directory: whatever was synced, as `faults.c` has written it down, and any part of the rest. Bytes behind the last
 * sync of a file are gone, or are zeros, from some point on; names that no sync of their directory has seen may be gone, with everything behind them. To be
 * done while no process is there. Watermarks are never synced, so any part of them may be lost with it. The feed is not of this boot any more, so it goes; the catalog is derived, and stays as it happens to be.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../simulation/random.ts'

/** What became of it. */
export interface Lost {
  bytes: number
  names: number
}

export function cutPower({ store, syncs, random }: { readonly store: string; readonly syncs: string; readonly random: Random }): Lost {
  const lost: Lost = { bytes: 0, names: 0 }
  const safe = readSyncs(syncs)
  const sessions = join(store, 'sessions')
  if (existsSync(sessions)) cutDirectory(sessions, safe, random, lost)
  const watermarks = join(store, 'watermarks')
  if (existsSync(watermarks)) cutDirectory(watermarks, safe, random, lost)
  rmSync(join(store, 'feed'), { recursive: true, force: true })
  return lost
}

interface Safe {
  /** By inode and birth: another file may have the inode later. */
  readonly sizes: ReadonlyMap<string, number>
  readonly names: ReadonlyMap<string, ReadonlySet<string>>
}

function readSyncs(log: string): Safe {
  const sizes = new Map<string, number>()
  const names = new Map<string, ReadonlySet<string>>()
  for (const line of existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : []) {
    if (line.startsWith('D ')) {
      const [path = '', ...entries] = line.slice(2).split('\t')
      names.set(path, new Set([...(names.get(path) ?? []), ...entries]))
    } else {
      const [, inode, birth, size] = line.split(' ')
      const key = `${inode} ${birth}`
      sizes.set(key, Math.max(sizes.get(key) ?? 0, Number(size)))
    }
  }
  return { sizes, names }
}

function cutDirectory(directory: string, safe: Safe, random: Random, lost: Lost): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (safe.names.get(directory)?.has(entry.name) !== true && random.chance(0.5)) {
      lost.names++
      rmSync(path, { recursive: true })
    } else if (entry.isDirectory()) cutDirectory(path, safe, random, lost)
    else cutFile(path, safe, random, lost)
  }
}

function cutFile(path: string, { sizes }: Safe, random: Random, lost: Lost): void {
  const { ino, birthtimeNs, size: present } = statSync(path, { bigint: true })
  const size = Number(present)
  const unsafe = size - (sizes.get(`${ino} ${birthtimeNs}`) ?? 0)
  if (unsafe <= 0) return
  const gone = random.chance(0.5) ? unsafe : random.int(unsafe + 1)
  lost.bytes += gone
  truncateSync(path, size - gone)
  // The file had grown, and what was to fill it was not written.
  if (random.chance(0.3)) truncateSync(path, size)
}
