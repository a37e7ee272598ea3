/**
 * The keys of one journal's sealed segments, through its id files. Each sealed segment gets one; neighbours of like size are merged, so
 * that a look-up opens O(log n) of them. A file that is missing or rotten is made again from the segments before anything is decided.
 */
import { join } from 'node:path'
import type { Clock } from '../../engine/clock.ts'
import type { Ids } from '../../engine/ids.ts'
import type { Counted } from '../../record/fold.ts'
import type { KeyEntry, KeyHash, KeysOf } from '../../record/key-hash.ts'
import type { Disk, DiskFile } from './disk.ts'
import { unreadable } from './failures.ts'
import { draftOf, isDraft, removeAbandoned } from './id-drafts.ts'
import {
  correctedBlocks,
  encodeEntries,
  filterOf,
  findKey,
  type IdFile,
  KEY_BYTES,
  mayHave,
  probesOf,
  RottenIdFile,
  readIdFile,
  writeIdFile,
} from './id-file.ts'
import { mergeIds } from './id-merge.ts'
import { firstOf, idFile } from './names.ts'

export interface IdIndexOptions {
  readonly disk: Disk
  readonly ids: Ids
  readonly clock: Pick<Clock, 'now'>
  readonly directory: string
  readonly keysOf: KeysOf
  /** The counted records of one segment, carried ones included. */
  readonly records: (segment: number, successor: number) => AsyncIterable<Counted>
  readonly segments: () => Promise<number[]>
}

interface Range {
  readonly first: number
  readonly end: number
  readonly count: number
}

type OnDisk = Range & { readonly file: IdFile; readonly filter?: undefined; readonly memory?: undefined }
/** The highest entry of each key of one segment: a range ends where a segment does, so no look-up asks for a lower one. */
type InMemory = Range & { readonly memory: ReadonlyMap<KeyHash, KeyEntry>; readonly filter: Buffer; readonly file?: undefined }

/** Keys of a range of segments: from a file, or held in memory where none was written yet, or none could be. */
type Source = OnDisk | InMemory

/** So many files of like size are merged into one. */
const MERGED_AT_ONCE = 4

export class IdIndex {
  readonly #options: IdIndexOptions
  /** By their first position. They overlap where processes have merged differently. */
  #sources: readonly Source[] = []
  /** What opens, makes and closes files goes one after the other. */
  #turn: Promise<unknown> = Promise.resolve()
  /** The directory was listed, and drafts of dead processes were removed. */
  #isSwept = false

  constructor(options: IdIndexOptions) {
    this.#options = options
  }

  /** Memory that it holds, for whoever bounds it. */
  get bytes(): number {
    return this.#sources.reduce(
      (sum, { file, memory, count }) => sum + (file ? file.fences.length + file.filter.length + 500 : 0) + (memory ? count * 300 : 0),
      0,
    )
  }

  /** Files that it holds open. */
  get files(): number {
    return this.#sources.reduce((sum, { file }) => sum + (file === undefined ? 0 : 1), 0)
  }

  /** What is open already answers at once: a look-up does not wait until files are merged. */
  async lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
    try {
      const sources = this.#covering(from, before)
      if (sources !== undefined) return highestOf(sources, keys, { from, before })
    } catch (error) {
      if (!(error instanceof RottenIdFile)) throw unreadable(error, 'An id file')
    }
    return this.#inTurn(async () => {
      for (;;) {
        const sources = await this.#cover(from, before)
        try {
          return highestOf(sources, keys, { from, before })
        } catch (error) {
          if (!(error instanceof RottenIdFile)) throw unreadable(error, 'An id file')
          await this.#discard(sources)
        }
      }
    })
  }

  /** Takes in the highest entry of each key of a segment that was just sealed, so that it need not be read again. */
  storeKeys(segment: number, end: number, keys: ReadonlyMap<KeyHash, KeyEntry>): void {
    if (this.#sources.some((source) => source.end > segment)) return
    this.#sources = [...this.#sources, { first: segment, end, count: keys.size, memory: keys, filter: filterOf(keys) }]
  }

  /** Writes what is held in memory, so that other processes need not read the segments, and merges. Failures are left to a look-up. */
  prepare(before: number): Promise<void> {
    return this.#inTurn(async () => {
      try {
        if (!this.#isSwept) await this.#idFiles()
        // To list a journal of many segments for each one that is sealed would take longer than all else.
        const first = this.#sources[0]?.first ?? (await this.#options.segments())[0]
        if (first !== undefined) await this.#merge(await this.#cover(first, before, true))
      } catch (error) {
        if (error instanceof RottenIdFile) await this.#discard(this.#sources)
      }
    })
  }

  /**
   * A line was written over: what is kept of its keys is of what stood there. They are corrected in place, since a file may hold very many
   * segments; one that proves rotten is removed, and made again when needed.
   */
  correct(keys: readonly KeyEntry[]): Promise<void> {
    return this.#inTurn(async () => {
      const isOf = (first: number, end: number) => keys.filter(({ at }) => first <= at && at < end)
      for (const source of this.#sources) {
        const { memory, first, end } = source
        if (memory === undefined || isOf(first, end).length === 0) continue
        const corrected = new Map(memory)
        for (const entry of keys) if (memory.get(entry.key)?.at === entry.at) corrected.set(entry.key, entry)
        await this.#replace([source], { ...source, memory: corrected })
      }
      for (const first of await this.#idFiles()) if (isOf(first, Number.POSITIVE_INFINITY).length > 0) await this.#correctFile(first, keys)
    })
  }

  async #correctFile(first: number, keys: readonly KeyEntry[]): Promise<void> {
    const { disk, directory } = this.#options
    const path = join(directory, idFile(first))
    const file = await disk.open(path, 'read')
    try {
      const ids = await readIdFile(file)
      if (ids === undefined) return await this.#remove(idFile(first))
      for (const { offset, was, bytes } of correctedBlocks(ids, keys)) await disk.overwrite(path, offset, was, bytes, false)
    } catch (error) {
      if (!(error instanceof RottenIdFile)) throw error
      await this.#remove(idFile(first))
    } finally {
      await file.close().catch(() => undefined)
    }
  }

  /** Removes the files that begin before a position, and all drafts; those of segments that are still there are made again when needed. */
  forget(before: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#replace(this.#sources.filter((source) => source.first < before))
      for (const name of await this.#options.disk.list(this.#options.directory)) {
        if ((firstOf(name, 'ids') ?? before) < before || isDraft(name)) await this.#remove(name)
      }
    })
  }

  close(): Promise<void> {
    return this.#inTurn(() => this.#replace(this.#sources))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => undefined)
    return result
  }

  /** The sources of a range, if all of it is known. */
  #covering(from: number, before: number): readonly Source[] | undefined {
    if (this.#gap(from, before) !== undefined) return undefined
    return this.#sources.filter((source) => source.end > from && source.first < before)
  }

  /** The first position of a range that no source holds; `onDisk`: that no file does. */
  #gap(from: number, before: number, onDisk = false): number | undefined {
    let position = from
    for (const { first, end, memory } of this.#sources) {
      if (position >= before) break
      if (end <= position) continue
      if (first > position || (onDisk && memory !== undefined)) break
      position = end
    }
    return position < before ? position : undefined
  }

  /** Opens or makes what a range needs; `onDisk`: also what is held in memory only, if it can be written. */
  async #cover(from: number, before: number, onDisk = false): Promise<readonly Source[]> {
    let files: number[] | undefined
    const open = async (position: number): Promise<Source> => {
      files ??= await this.#idFiles()
      return (await this.#open(position, files)) ?? (await this.#build(position, before))
    }
    for (let at = this.#gap(from, before, onDisk); at !== undefined; ) {
      const position = at
      const known = this.#sources.find(({ first, end, memory }) => memory !== undefined && first <= position && position < end)
      const source = known?.memory ? await this.#make(known) : await open(position)
      await this.#replace(
        this.#sources.filter(({ first, end }) => first >= source.first && end <= source.end),
        source,
      )
      at = this.#gap(source.end, before, onDisk)
    }
    return this.#covering(from, before) ?? []
  }

  async #idFiles(): Promise<number[]> {
    try {
      const names = await this.#options.disk.list(this.#options.directory)
      await removeAbandoned(this.#options, names)
      this.#isSwept = true
      return names.map((name) => firstOf(name, 'ids')).filter((first) => first !== undefined)
    } catch (error) {
      throw unreadable(error, 'The journal')
    }
  }

  /** The id file that holds a position. Merged files begin earlier than the segment. */
  async #open(position: number, firsts: readonly number[]): Promise<Source | undefined> {
    const { disk, directory } = this.#options
    const first = Math.max(-1, ...firsts.filter((candidate) => candidate <= position))
    if (first === -1) return undefined
    let file: DiskFile | undefined
    try {
      file = await disk.open(join(directory, idFile(first)), 'read')
      const ids = await readIdFile(file)
      if (ids !== undefined && ids.first === first && ids.end > position)
        return { first: ids.first, end: ids.end, count: ids.count, file: ids }
      await file.close()
      return undefined
    } catch {
      // It is derived: whatever is wrong with it, the segments tell.
      await file?.close().catch(() => undefined)
      return undefined
    }
  }

  /** The keys of the segment that holds a position, read from it; none if it was purged. */
  async #build(position: number, before: number): Promise<Source> {
    const segments = await this.#options.segments()
    const segment = segments.findLast((first) => first <= position)
    const end = Math.min(before, ...segments.filter((first) => first > position))
    const memory = new Map<KeyHash, KeyEntry>()
    if (segment === undefined) return { first: position, end, count: 0, memory, filter: filterOf(memory) }
    for await (const counted of this.#options.records(segment, end)) {
      for (const entry of this.#options.keysOf(counted)) memory.set(entry.key, entry)
    }
    return this.#make({ first: segment, end, count: memory.size, memory, filter: filterOf(memory) })
  }

  /** An id file of these keys, or the keys themselves where none can be written. */
  async #make(source: InMemory): Promise<Source> {
    const { first, end, count, memory } = source
    const range = { first, end, count }
    // Encoded once the file is open, and not before: whoever has sealed the segment goes on meanwhile.
    const pieces = function* (): Generator<Buffer> {
      yield encodeEntries([...memory.values()])
    }
    const file = await this.#write(range, pieces()).catch(() => undefined)
    return file === undefined ? source : { ...range, file }
  }

  /** Writes beside and renames: a reader sees a whole file or none. Not synced, since a torn one is noticed and made again. */
  async #write(range: Range, pieces: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<IdFile> {
    const { disk, ids, directory } = this.#options
    const path = join(directory, idFile(range.first))
    const beside = draftOf(path, ids)
    const file = await disk.open(beside, 'create')
    try {
      const written = await writeIdFile(file, range, pieces)
      await disk.rename(beside, path)
      return written
    } catch (error) {
      await file.close()
      await disk.remove(beside).catch(() => undefined)
      throw error
    }
  }

  /**
   * Merges the newest files of like size once there are enough of them. The next older one is more than twice as large then, so
   * O(log n) files remain, and an entry is written again only when several times as many have come.
   */
  async #merge(sources: readonly Source[]): Promise<void> {
    const row = [...sources]
    for (;;) {
      const alike: OnDisk[] = []
      let largest = 0
      for (let source = row.at(-1); source?.file !== undefined; source = row.at(-1 - alike.length)) {
        if (alike.length > 0 && source.count > 2 * largest) break
        largest = Math.max(largest, source.count)
        alike.unshift(source)
      }
      const [oldest, newest] = [alike[0], alike.at(-1)]
      if (oldest === undefined || newest === undefined || alike.length < MERGED_AT_ONCE) return
      const range = { first: oldest.first, end: newest.end, count: alike.reduce((sum, { count }) => sum + count, 0) }
      const one: Source = { ...range, file: await this.#write(range, mergeIds(alike.map(({ file }) => file))) }
      row.splice(-alike.length, alike.length, one)
      await this.#replace(alike, one)
      for (const { first } of alike.slice(1)) await this.#remove(idFile(first))
    }
  }

  async #discard(sources: readonly Source[]): Promise<void> {
    await this.#replace(sources)
    for (const { first } of sources) await this.#remove(idFile(first))
  }

  /** Puts one source, or none, in the place of others, and only then closes their files: a look-up uses what is in the list. */
  async #replace(sources: readonly Source[], by?: Source): Promise<void> {
    const rest = this.#sources.filter((source) => !sources.includes(source))
    this.#sources = by === undefined ? rest : [...rest, by].sort((a, b) => a.first - b.first)
    for (const { file } of sources) await file?.file.close().catch(() => undefined)
  }

  async #remove(name: string): Promise<void> {
    // A stale or rotten file that stays is only found stale or rotten again.
    await this.#options.disk.remove(join(this.#options.directory, name)).catch(() => undefined)
  }
}

interface Between {
  readonly from: number
  readonly before: number
}

/**
 * Of each key the highest entry in a range. The newest sources come first: what stands in an older one stands below their first position, but for
 * lines that they carry. Each is asked for all keys before the next: what it has in memory is at hand then.
 */
function highestOf(sources: readonly Source[], keys: readonly KeyHash[], { from, before }: Between): (KeyEntry | undefined)[] {
  const bytes = Buffer.from(keys.join(''), 'hex')
  const probes = probesOf(bytes)
  const best = new Array<KeyEntry | undefined>(keys.length).fill(undefined)
  for (let i = sources.length - 1; i >= 0; i--) {
    const { file, memory, filter = file?.filter as Buffer, end } = sources[i] as Source
    for (let index = 0; index < keys.length; index++) {
      const known = best[index]
      if (known !== undefined && known.at >= end) continue
      if (!mayHave(filter, probes, index)) continue
      const entry = memory?.get(keys[index] as KeyHash) ?? (file && findKey(file, keyIn(bytes, index), from, before))
      if (entry === undefined || entry.at < from || entry.at >= before) continue
      if (known === undefined || entry.at > known.at) best[index] = entry
    }
  }
  return best
}

function keyIn(bytes: Buffer, index: number): Buffer {
  return bytes.subarray(index * KEY_BYTES, (index + 1) * KEY_BYTES)
}
