/** A backup as an engine that only reads: so that its journals can be folded, and opened with keys, like those of a store. */
import { join } from 'node:path'
import { journalName } from '../../engine/names.ts'
import type { Chunk, Engine, Journal } from '../../engine/port.ts'
import { HoldfastError } from '../../errors.ts'
import { splitLines } from '../../record/line.ts'
import type { Disk } from './disk.ts'
import { isMissing, unreadable } from './failures.ts'
import { firstOf } from './names.ts'
import { readSegment } from './restore-segments.ts'

/** `instead`: segments of the journal that is asked for which are read from here and not from the disk. */
export function backupEngine(disk: Disk, root: string, instead: ReadonlyMap<number, Buffer> = new Map()): Engine {
  return {
    supports: { durable: true, shared: true },
    warnings: [],
    name: journalName,
    journal: (name) => backupJournal(disk, root, name, instead),
    // biome-ignore lint/correctness/useYield: nothing asks a backup for its names.
    names: async function* () {
      throw onlyRead()
    },
    changes: refuse,
    watch: () => () => undefined,
    close: async () => undefined,
  }
}

function backupJournal(disk: Disk, root: string, name: string, instead: ReadonlyMap<number, Buffer>): Journal {
  return {
    name,
    segments: async () => [...new Set([...(await segmentsOf(disk, root, name)), ...instead.keys()])].sort((a, b) => a - b),
    read: async (segment, from): Promise<Chunk | undefined> => {
      const bytes = instead.get(segment) ?? (await readSegment({ disk, root, name }, segment))
      if (bytes === undefined) return undefined
      const { lines, next } = splitLines(bytes.subarray(from - segment), from)
      return { lines, next, end: next, opened: 0 }
    },
    sync: async () => true,
    append: refuse,
    roll: refuse,
    lookup: refuse,
    storeKeys: () => undefined,
    overwrite: refuse,
    purge: refuse,
    close: async () => undefined,
  }
}

/** First positions of the segments, ascending. */
async function segmentsOf(disk: Disk, root: string, name: string): Promise<number[]> {
  try {
    const files = await disk.list(join(root, 'sessions', name))
    return files
      .map((file) => firstOf(file, 'jsonl'))
      .filter((first) => first !== undefined)
      .sort((a, b) => a - b)
  } catch (error) {
    if (isMissing(error)) return []
    throw unreadable(error, 'The backup')
  }
}

async function refuse(): Promise<never> {
  throw onlyRead()
}

function onlyRead(): HoldfastError {
  return new HoldfastError('UNIMPLEMENTED', 'A backup is only read.')
}
