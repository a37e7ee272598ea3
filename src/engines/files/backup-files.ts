/** What a backup does with single files and directories. */
import { dirname, join } from 'node:path'
import { HoldfastError } from '../../errors.ts'
import type { Disk } from './disk.ts'
import { isMissing, unreadable, unwritable } from './failures.ts'
import { firstOf } from './names.ts'

/** Names in a directory; none if there is no such directory, or if it is a file. */
export async function entries(disk: Disk, path: string): Promise<string[]> {
  return disk.list(path).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw unreadable(error, 'The store')
  })
}

/** Directories of journals, by their paths below a store or a backup. */
export async function* journals(disk: Disk, root: string): AsyncGenerator<string> {
  for (const space of await entries(disk, join(root, 'sessions'))) {
    for (const part of await entries(disk, join(root, 'sessions', space))) {
      for (const name of await entries(disk, join(root, 'sessions', space, part))) yield `sessions/${space}/${part}/${name}`
    }
  }
}

/** The files of the segments in the directory of a journal, ascending. */
export async function segmentFiles(disk: Disk, directory: string): Promise<string[]> {
  return (await entries(disk, directory)).filter((file) => firstOf(file, 'jsonl') !== undefined).sort()
}

export async function readWhole(disk: Disk, path: string): Promise<Buffer | undefined> {
  try {
    const file = await disk.open(path, 'read')
    try {
      return await file.read(0, file.stat().size)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw unreadable(error, path)
  }
}

/** Writes a file next to its place, syncs it, reads it back, and then puts it there. */
export async function putFile(disk: Disk, place: string, bytes: Buffer): Promise<void> {
  const draft = `${place}.tmp`
  try {
    await makeDirectories(disk, dirname(place))
    await disk.remove(draft).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
    const file = await disk.open(draft, 'create')
    try {
      for (let written = 0; written < bytes.length; ) written += await file.write(bytes.subarray(written))
      await file.sync()
      if (!(await file.read(0, bytes.length)).equals(bytes))
        throw new HoldfastError('UNAVAILABLE', `What was written to ${draft} is not what is read there.`)
    } finally {
      await file.close()
    }
    await disk.rename(draft, place)
    await disk.syncDirectory(dirname(place))
  } catch (error) {
    throw error instanceof HoldfastError ? error : unwritable(error, 'The backup')
  }
}

/** Moves a directory to a place where nothing is, and makes both names durable. */
export async function moveDirectory(disk: Disk, from: string, to: string): Promise<void> {
  try {
    await makeDirectories(disk, dirname(to))
    await disk.rename(from, to)
    await disk.syncDirectory(dirname(to))
    await disk.syncDirectory(dirname(from))
  } catch (error) {
    throw error instanceof HoldfastError ? error : unwritable(error, 'The backup')
  }
}

/** A directory with those that lead to it, each of them durable. */
export async function makeDirectories(disk: Disk, path: string): Promise<void> {
  const missing: string[] = []
  for (let at = path; dirname(at) !== at; at = dirname(at)) {
    const there = await disk.list(at).then(
      () => true,
      () => false,
    )
    if (there) break
    missing.unshift(at)
  }
  for (const directory of missing) {
    await disk.makeDirectory(directory)
    await disk.syncDirectory(dirname(directory))
  }
}
