/**
 * What lies at a path, as sources to import: a file, a directory of them, or a whole home folder of another program. Files are opened for
 * reading only, and only while they are read.
 */
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { HoldfastError } from '../errors.ts'
import { EXPANSION } from '../transfer/bytes.ts'
import { isLog, isOrphan } from '../transfer/file-names.ts'
import type { Source, SourceFile } from '../transfer/item.ts'
import { plain } from '../transfer/plain.ts'

const READ_BYTES = 256 * 1024
const PASSED_OVER = new Set(['node_modules', '.git'])

/** Everything at some paths that may be a source. NOT_FOUND if nothing is there. */
export async function* sourcesAt(paths: readonly string[]): AsyncGenerator<Source> {
  const orphans: Source[] = []
  for (const given of paths) {
    const path = resolve(given)
    const found = await stat(path).catch((error: unknown) => {
      throw new HoldfastError('NOT_FOUND', `${given} cannot be read: ${(error as Error).message}`, {
        cause: error,
        details: { path: given },
      })
    })
    if (found.isDirectory()) yield* inDirectory(path, orphans)
    else yield fileSource(path, found.size, isOrphan(path))
  }
  // Behind the files that they were to replace.
  yield* orphans
}

async function* inDirectory(directory: string, orphans: Source[]): AsyncGenerator<Source> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.map(({ name }) => name)
  if (names.includes('messages.jsonl') || (names.includes('history') && (await hasArchives(join(directory, 'history'))))) {
    yield { name: directory, files: await filesBelow(directory) }
    return
  }
  // What was spilled from a session is older than what is left of it.
  const ordered = entries.toSorted((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1))
  for (const entry of ordered) {
    const path = join(directory, entry.name)
    if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) yield* inDirectory(path, orphans)
    else if (entry.isFile() && isOrphan(entry.name)) orphans.push(fileSource(path, (await stat(path)).size, true))
    else if (entry.isFile() && isLog(entry.name)) yield fileSource(path, (await stat(path)).size, false)
  }
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
    else if (entry.isFile()) files.push(fileAt(join(directory, path), path, (await stat(join(directory, path))).size))
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
