/**
 * File descriptors are a budget: the system gives a process so many, and journals, connections and the catalog share them. A store that is opened learns
 * the limit of its process and divides what is left. Nothing here is asked for again while the store is in use.
 */
import { readdirSync, readFileSync } from 'node:fs'

export interface DescriptorShares {
  /** Files that the engine of the store holds open. */
  readonly files: number
  /** The same of the thread of the catalog. 0 if a thread would take too many: then the catalog shares the engine of the store. */
  readonly catalogFiles: number
  /** The same of each thread that reads for the catalog. 0 if there are too few for such threads. */
  readonly readerFiles: number
  /** Connections that a server accepts at once. Undefined if the limit of the process is unknown. */
  readonly connections: number | undefined
}

interface Budget {
  /** Descriptors that the process may have. Undefined if that is unknown. */
  readonly limit: number | undefined
  /** Descriptors that it has now. */
  readonly used: number
  /** Descriptors that Holdfast holds at most, connections not counted. */
  readonly most: number
}

/** What Node holds before a store is opened: pipes, event loops, standard input and output. */
const OF_NODE = 24
/** Database, feed, watches and short-lived opens; and with threads, what those hold themselves. */
const RESERVE = 14
const RESERVE_WITH_THREADS = 72
/** Fewer free descriptors than this are too few for a thread of the catalog, and for threads that read for it. */
const ENOUGH_FOR_THREAD = 192
const ENOUGH_FOR_READERS = 512
const READERS = 2
/** The part of the files in what files and connections share. */
const PART_OF_FILES = 0.3
const FEWEST_FILES = 8
const FEWEST_CONNECTIONS = 4

/** Divides the descriptors of a process. Even a limit that is too low for everything gives each part a few: where they run out, calls wait. */
export function shareDescriptors({ limit, used, most }: Budget): DescriptorShares {
  const free = limit === undefined ? Number.POSITIVE_INFINITY : Math.max(0, limit - used)
  const least = Math.min(free, most)
  const reserve = least < ENOUGH_FOR_THREAD ? RESERVE : RESERVE_WITH_THREADS
  const shared = free - reserve
  const all = Math.max(FEWEST_FILES, Math.floor(Math.min(most - OF_NODE - reserve, shared * PART_OF_FILES)))
  const catalogFiles = least < ENOUGH_FOR_THREAD ? 0 : Math.max(FEWEST_FILES, Math.floor(all / 8))
  const readerFiles = least < ENOUGH_FOR_READERS ? 0 : Math.max(FEWEST_FILES, Math.floor(all / 24))
  return {
    files: all - catalogFiles - READERS * readerFiles,
    catalogFiles,
    readerFiles,
    connections: limit === undefined ? undefined : Math.max(FEWEST_CONNECTIONS, shared - all),
  }
}

/** What this process may have and has. Node raises the soft limit to the hard one when it starts. Only Linux tells the limit in a file. */
export function descriptorsOfProcess(): Pick<Budget, 'limit' | 'used'> {
  try {
    return { limit: limitIn(readFileSync('/proc/self/limits', 'utf8')), used: readdirSync('/proc/self/fd').length }
  } catch {
    return { limit: undefined, used: 0 }
  }
}

/** The soft limit in the text of `/proc/<pid>/limits`. Undefined if there is none. */
export function limitIn(limits: string): number | undefined {
  const soft = /^Max open files\s+(\d+)\s/m.exec(limits)?.[1]
  return soft === undefined ? undefined : Number(soft)
}
