/**
 * What lies at a path, as sources to import: a file, a directory of them, or a whole home folder of another program. Files are opened for
 * reading only, and only while they are read.
 */
import { createReadStream, type Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { isStoresOwn } from '../engine/names.ts'
import { HoldfastError } from '../errors.ts'
import { firstPosition, isLog, isOrphan } from '../formats/file-names.ts'
import type { Source, SourceFile } from '../formats/item.ts'
import { plain } from '../formats/plain.ts'
import { checkList, invalid } from '../session/check.ts'
import { EXPANSION } from './bytes.ts'

const READ_BYTES = 256 * 1024
/** What tells a Holdfast store, and where its sessions are. */
const [STORE_FILE, STORE_SESSIONS] = ['holdfast.json', 'sessions']
const PASSED_OVER = new Set(['node_modules', '.git'])

/**
 * Finds the files below some paths that may hold sessions to import.
 *
 * @returns The sources for `importInto`.
 * @throws HoldfastError INVALID_ARGUMENT when it is given no list of paths.
 * @throws HoldfastError NOT_FOUND when a path cannot be read.
 * @example
 * for await (const report of importInto(store, sourcesAt(['./sessions']))) console.log(report.session)
 */
export async function* sourcesAt(paths: readonly string[]): AsyncGenerator<Source> {
  checkList('paths', paths)
  const orphans: Source[] = []
  for (const given of paths) {
    if (typeof given !== 'string' || given === '') throw invalid('Each path must be a text that is not empty.')
    const path = resolve(given)
    const found = await stat(path).catch((error: unknown) => {
      throw new HoldfastError('NOT_FOUND', `${given} cannot be read: ${(error as Error).message}`, {
        cause: error,
        details: { reason: 'no path', path: given },
      })
    })
    if (found.isDirectory()) yield* inDirectory(path, orphans)
    else yield fileSource(path, found.size, isOrphan(path))
  }
  // Behind the files that they were to replace.
  yield* orphans
}

async function* inDirectory(directory: string, orphans: Source[]): AsyncGenerator<Source> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => error as Error)
  if (entries instanceof Error) {
    yield closedSource(directory, entries)
    return
  }
  const names = entries.map(({ name }) => name)
  if (names.includes('messages.jsonl') || (names.includes('history') && (await hasArchives(join(directory, 'history'))))) {
    yield await sessionSource(directory)
    return
  }
  if (isJournals(basename(directory), entries)) {
    if (!isStoresOwn(`${basename(directory)}/`)) yield await sessionSource(directory, (path) => firstPosition(path) !== undefined)
    return
  }
  // Of a store, everything else is derived, or names the store.
  if (names.includes(STORE_FILE) && names.includes(STORE_SESSIONS)) {
    yield* inDirectory(join(directory, STORE_SESSIONS), orphans)
    return
  }
  // What was spilled from a session is older than what is left of it.
  const ordered = entries.toSorted((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1))
  for (const entry of ordered) {
    const path = join(directory, entry.name)
    if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) yield* inDirectory(path, orphans)
    else if (entry.isFile() && isOrphan(entry.name)) orphans.push(fileSource(path, await sizeOf(path), true))
    else if (entry.isFile() && isLog(entry.name)) yield fileSource(path, await sizeOf(path), false)
  }
}

/** One that may not be read, or is gone by now, as others are in use while they are looked through: it is told when its turn comes, and holds up no other. */
function closedSource(directory: string, error: Error): Source {
  const read = (): never => {
    throw unreadable(directory, `${directory} cannot be read: ${error.message}`, error)
  }
  return { name: directory, files: [{ path: '', size: 0, read }] }
}

/** Whether a directory holds the journals of one space of a Holdfast store, or the segments of one journal. */
function isJournals(name: string, entries: readonly Dirent[]): boolean {
  if (entries.some((entry) => entry.isFile() && firstPosition(entry.name) !== undefined)) return true
  return (
    /^[0-9a-f]{32}$/.test(name) && entries.length > 0 && entries.every((entry) => entry.isDirectory() && /^[0-9a-f]{2}$/.test(entry.name))
  )
}

async function sessionSource(directory: string, isWanted: (path: string) => boolean = () => true): Promise<Source> {
  try {
    return { name: directory, files: (await filesBelow(directory)).filter(({ path }) => isWanted(path)) }
  } catch (error) {
    return closedSource(directory, error as Error)
  }
}

/** None of a file that is gone by now: reading it tells so. */
async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => ({ size: 0 }))).size
}

function rank(name: string): number {
  return /spill/i.test(name) ? 0 : 1
}

async function hasArchives(history: string): Promise<boolean> {
  const names = await readdir(history).catch(() => [])
  return names.some((name) => /^archive_\d+$/.test(name))
}

async function filesBelow(directory: string, below = ''): Promise<SourceFile[]> {
  const files: SourceFile[] = []
  for (const entry of await readdir(join(directory, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) files.push(...(await filesBelow(directory, path)))
    else if (entry.isFile()) files.push(fileAt(join(directory, path), path, await sizeOf(join(directory, path))))
  }
  return files
}

function fileSource(path: string, size: number, orphan: boolean): Source {
  const name = path.split(/[/\\]/).at(-1) as string
  return { name: path, files: [fileAt(path, name, size)], ...(orphan ? { orphan: true } : {}) }
}

function fileAt(path: string, name: string, size: number): SourceFile {
  const compression = /\.gz$/i.test(path) ? 'gzip' : /\.zst$/i.test(path) ? 'zstd' : undefined
  if (compression === undefined) return { path: name, size, read: () => read(path) }
  let fault: string | undefined
  const readPlain = async function* (): AsyncGenerator<Uint8Array> {
    fault = undefined
    try {
      yield* plain(read(path), { compression, onFault: (why) => (fault = why) })
    } catch (error) {
      throw error instanceof HoldfastError && error.code === 'INVALID_ARGUMENT' ? unreadable(path, error.message) : error
    }
  }
  return { path: name, size: EXPANSION * size, read: readPlain, fault: () => fault }
}

async function* read(path: string): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: READ_BYTES })
  try {
    for await (const chunk of file) yield chunk as Uint8Array
  } catch (error) {
    throw unreadable(path, `${path} cannot be read: ${(error as Error).message}`, error)
  } finally {
    file.destroy()
  }
}

/** `source` tells it from a store that cannot be read. */
function unreadable(path: string, message: string, cause?: unknown): HoldfastError {
  return new HoldfastError('UNREADABLE', message, { details: { source: path }, cause })
}
