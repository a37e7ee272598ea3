/** What lies in a store's directories beside the segments: id files are held against them, and what does not belong there is named. Changes nothing. */
import { join } from 'node:path'
import type { Oddity } from '../../engine/port.ts'
import { HoldfastError } from '../../errors.ts'
import type { Verdict } from '../../record/fold.ts'
import type { KeyEntry, KeyHash, KeysOf } from '../../record/key-hash.ts'
import type { Disk } from './disk.ts'
import { isMissing, unreadable } from './failures.ts'
import { isDraft } from './id-drafts.ts'
import { findKey, type IdFile, piecesOf, readIdFile } from './id-file.ts'
import { firstOf, idFile } from './names.ts'
import type { Watermarks } from './watermarks.ts'

/** What may lie in the root of a store. `catalog.db` has companions while it is open; `server.key` is what a server made for its own machine. */
const ROOT_FILES = /^(?:holdfast\.json|sessions|watermarks|feed|reserve|exclusive|quarantine|server\.key(?:\.tmp)?|catalog\.db.*)$/

/** How directories and files are called below `sessions/`, level by level. */
const LEVELS = [/^[0-9a-f]{32}$/, /^[0-9a-f]{2}$/, /^[a-z0-9-]{0,24}-[0-9a-f]{32}$/]

export interface StoreContents {
  readonly disk: Disk
  readonly root: string
  readonly watermarks: Pick<Watermarks, 'names' | 'isDue'>
}

/** Names that Holdfast did not give, from the root down to the directories of journals; and whether watermarks are missing. */
export async function* inspectStore({ disk, root, watermarks }: StoreContents): AsyncGenerator<Oddity> {
  for (const name of await list(disk, root)) if (!ROOT_FILES.test(name)) yield { kind: 'foreign-file', file: name }
  /** Directories of journals, one for each shard of the watermarks. */
  const shards = new Map<string, string>()
  yield* foreignBelow('sessions', LEVELS)
  for await (const { shard, names } of watermarks.names()) if (names.length > 0) shards.delete(shard)
  for (const directory of shards.values()) if (await isDue(directory)) return yield { kind: 'no-watermarks', file: 'watermarks/' }

  async function* foreignBelow(path: string, [level, ...deeper]: readonly RegExp[]): AsyncGenerator<Oddity> {
    if (level === undefined) return
    for (const name of await list(disk, join(root, path))) {
      if (!level.test(name)) yield { kind: 'foreign-file', file: `${path}/${name}` }
      else if (deeper.length > 0) yield* foreignBelow(`${path}/${name}`, deeper)
      else shards.set(path.slice(-2), join(root, path, name))
    }
  }

  async function isDue(directory: string): Promise<boolean> {
    const segments = (await list(disk, directory)).filter((file) => firstOf(file, 'jsonl') !== undefined)
    const files = segments.flatMap((segment) => disk.statSync(join(directory, segment)) ?? [])
    return files.some((file) => watermarks.isDue(file))
  }
}

export interface JournalContents {
  readonly disk: Disk
  readonly directory: string
  readonly keysOf: KeysOf
  readonly segments: () => Promise<number[]>
  /** What each line of one segment is. */
  readonly verdicts: (segment: number, successor: number) => AsyncIterable<Verdict>
}

export async function* inspectJournal(contents: JournalContents): AsyncGenerator<Oddity> {
  for (const file of await list(contents.disk, contents.directory)) {
    const first = firstOf(file, 'ids')
    if (first !== undefined) {
      if (!(await isRight(contents, first))) yield { kind: 'stale-index', file, segment: first }
    } else if (firstOf(file, 'jsonl') === undefined && !isDraft(file)) yield { kind: 'foreign-file', file }
  }
}

/** Whether an id file is whole and holds the keys of the segments that it speaks of, and no others. */
async function isRight(contents: JournalContents, first: number): Promise<boolean> {
  const { disk, directory } = contents
  try {
    const file = await disk.open(join(directory, idFile(first)), 'read')
    try {
      const ids = await readIdFile(file)
      if (ids === undefined || ids.first !== first) return false
      for await (const _ of piecesOf(ids)); // Compares the checksum of every block.
      return await agrees(contents, ids)
    } finally {
      await file.close().catch(() => undefined)
    }
  } catch (error) {
    // The segments could not be read, which is told of them; nothing can be told of the id file.
    if (error instanceof HoldfastError && error.code === 'UNREADABLE') return true
    if (error instanceof HoldfastError) throw error
    // Merged into another one meanwhile, or removed with its segment. Whatever else is wrong with it: it is derived.
    return isMissing(error)
  }
}

/** Of segments that are spoiled, or gone, an id file may know more than they tell. */
async function agrees({ segments, verdicts, keysOf }: JournalContents, ids: IdFile): Promise<boolean> {
  const firsts = (await segments()).filter((first) => first >= ids.first && first < ids.end)
  let count = 0
  let spoiled = firsts[0] !== ids.first
  for (const [i, first] of firsts.entries()) {
    const end = firsts[i + 1] ?? ids.end
    // Of a key that stands in a segment more than once, the last one is kept.
    const last = new Map<KeyHash, KeyEntry>()
    for await (const verdict of verdicts(first, end)) {
      spoiled ||= verdict.kind === 'damage'
      if (verdict.kind === 'counted') for (const entry of keysOf(verdict)) last.set(entry.key, entry)
    }
    for (const entry of last.values()) {
      const found = findKey(ids, Buffer.from(entry.key, 'hex'), entry.at, entry.at + 1)
      if (found === undefined || !isSame(found, entry)) return false
    }
    count += last.size
  }
  return spoiled || count === ids.count
}

function isSame(a: KeyEntry, b: KeyEntry): boolean {
  return a.at === b.at && a.index === b.index && a.length === b.length && a.crc === b.crc && a.digest === b.digest
}

async function list(disk: Disk, path: string): Promise<string[]> {
  try {
    return await disk.list(path)
  } catch (error) {
    if (isMissing(error)) return []
    throw unreadable(error, 'The store')
  }
}
