/**
 * Flips single bits in derived files of a store while processes use them. Holdfast can make each of these files again from the journals, so the driver
 * puts nothing back. The shared memory of the catalog (`-shm`) is not flipped: SQLite makes it again at each start, and it lies in memory.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export const FLIPPED = ['catalog', 'catalog log', 'feed', 'id file', 'watermarks'] as const
export type Flipped = (typeof FLIPPED)[number]

/** Numbers are parts of one. */
export interface FlipOrder {
  readonly file: Flipped
  /** Which file of this kind, and where in it. */
  readonly which: number
  readonly where: number
  /** The number of the bit in its byte. */
  readonly bit: number
}

/** A bit that was flipped. */
export interface Flip {
  readonly file: Flipped
  /** Below the directory of the store. */
  readonly path: string
  readonly offset: number
  readonly bit: number
  readonly from: number
  readonly to: number
}

/** Which kind of derived file a path below the store names; undefined if it names another file. */
export function kindOf(path: string): Flipped | undefined {
  if (/^catalog\.db\.[0-9a-f]{16,}(?:\.draft|\.left)?$/.test(path)) return 'catalog'
  if (/^catalog\.db\.[0-9a-f]{16,}(?:\.draft)?-wal$/.test(path)) return 'catalog log'
  if (path.startsWith('feed/')) return 'feed'
  if (path.startsWith('sessions/') && path.endsWith('.ids')) return 'id file'
  return path.startsWith('watermarks/') ? 'watermarks' : undefined
}

/** Flips a bit. Where there is no file of the kind, it takes the next kind. Undefined if there is nothing to flip. */
export function flipBit(store: string, { file, which, where, bit }: FlipOrder): Omit<Flip, 'from' | 'to'> | undefined {
  const first = FLIPPED.indexOf(file)
  for (const kind of [...FLIPPED.slice(first), ...FLIPPED.slice(0, first)]) {
    const paths = filesOf(store, kind)
    const start = Math.floor(which * paths.length)
    for (const path of [...paths.slice(start), ...paths.slice(0, start)]) {
      const offset = flipIn(join(store, path), where, bit)
      if (offset !== undefined) return { file: kind, path, offset, bit }
    }
  }
  return undefined
}

function filesOf(store: string, kind: Flipped): string[] {
  const folder = { catalog: '', 'catalog log': '', feed: 'feed', 'id file': 'sessions', watermarks: 'watermarks' }[kind]
  const names = namesIn(join(store, folder), kind === 'id file')
  return names.map((name) => join(folder, name)).filter((path) => kindOf(path) === kind)
}

/** Other processes delete directories in the meantime. */
function namesIn(directory: string, isDeep: boolean): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    return entries.flatMap((entry) => {
      if (!entry.isDirectory()) return entry.isFile() ? [entry.name] : []
      return isDeep ? namesIn(join(directory, entry.name), true).map((name) => join(entry.name, name)) : []
    })
  } catch {
    return []
  }
}

/** Returns the place of the byte; undefined if the file is empty, or was deleted. */
function flipIn(path: string, where: number, bit: number): number | undefined {
  let fd: number
  try {
    fd = openSync(path, 'r+')
  } catch {
    return undefined
  }
  try {
    const offset = Math.floor(where * fstatSync(fd).size)
    const byte = Buffer.alloc(1)
    if (readSync(fd, byte, 0, 1, offset) === 0) return undefined
    byte[0] = (byte[0] as number) ^ (1 << bit)
    writeSync(fd, byte, 0, 1, offset)
    return offset
  } finally {
    closeSync(fd)
  }
}
