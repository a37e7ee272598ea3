/**
 * The keys of one journal's sealed segments, through its id files. Each sealed segment gets one; neighbours of like size are merged, so
 * that a look-up opens O(log n) of them. A file that is missing or rotten is made again from the segments before anything is decided.
 */
import { join } from 'node:path'
import type { Ids } from '../../engine/ids.ts'
import type { Counted } from '../../record/fold.ts'
import type { KeyEntry, KeyHash, KeysOf } from '../../record/keys.ts'
import type { Disk, DiskFile } from './disk.ts'
import { unreadable } from './failures.ts'
import { allEntries, encodeEntry, findKey, type IdFile, RottenIdFile, readIdFile, writeIdFile } from './id-file.ts'
import { firstOf, idFile } from './names.ts'

interface IdIndexOptions {
  readonly disk: Disk
  readonly ids: Ids
  readonly directory: string
  readonly keysOf: KeysOf
  /** The counted records of one segment, carried ones included. */
  readonly records: (segment: number, successor: number) => AsyncIterable<Counted>
  readonly segments: () => Promise<number[]>
}

/** Keys of a range of segments: from a file, or held in memory where no file could be written. */
type Source = { readonly first: number; readonly end: number; readonly count: number } & (
  | { readonly file: IdFile; readonly memory?: undefined }
  | { readonly memory: ReadonlyMap<KeyHash, readonly KeyEntry[]>; readonly file?: undefined }
)

export class IdIndex {
  readonly #options: IdIndexOptions
  /** Ascending, not overlapping. */
  #sources: Source[] = []
  /** Calls go one after the other: they change the list. */
  #turn: Promise<unknown> = Promise.resolve()

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

  lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
    return this.#inTurn(async () => {
      for (;;) {
        const sources = await this.#cover(from, before)
        try {
          return keys.map((key) => sources.flatMap((source) => find(source, key)).find((entry) => entry.at >= from && entry.at < before))
        } catch (error) {
          if (!(error instanceof RottenIdFile)) throw unreadable(error, 'An id file')
          await this.#discard(sources)
        }
      }
    })
  }

  /** Makes what a later look-up up to `before` needs, and merges. Failures are left to that look-up. */
  prepare(before: number): Promise<void> {
    return this.#inTurn(async () => {
      try {
        const [first] = await this.#options.segments()
        if (first === undefined) return
        const sources = await this.#cover(first, before)
        await this.#merge(sources)
      } catch (error) {
        if (error instanceof RottenIdFile) await this.#discard(this.#sources)
      }
    })
  }

  /** Removes the files that begin before a position; those of segments that are still there are made again when needed. */
  forget(before: number): Promise<void> {
    return this.#inTurn(async () => {
      const gone = this.#sources.filter((source) => source.first < before)
      await this.#drop(gone)
      for (const name of await this.#options.disk.list(this.#options.directory)) {
        if ((firstOf(name, 'ids') ?? before) < before || name.endsWith('.tmp')) await this.#remove(name)
      }
    })
  }

  close(): Promise<void> {
    return this.#inTurn(() => this.#drop(this.#sources))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => undefined)
    return result
  }

  async #cover(from: number, before: number): Promise<Source[]> {
    const covering: Source[] = []
    let firsts: number[] | undefined
    for (let position = from; position < before; ) {
      let source = this.#sources.find(({ first, end }) => first <= position && position < end)
      if (source === undefined) {
        firsts ??= await this.#idFiles()
        source = (await this.#open(position, firsts)) ?? (await this.#build(position, before))
        this.#sources = [...this.#sources.filter(({ first, end }) => end <= position || first > position), source].sort(
          (a, b) => a.first - b.first,
        )
      }
      covering.push(source)
      position = source.end
    }
    return covering
  }

  async #idFiles(): Promise<number[]> {
    try {
      const names = await this.#options.disk.list(this.#options.directory)
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

  async #build(position: number, before: number): Promise<Source> {
    const segments = await this.#options.segments()
    const segment = segments.findLast((first) => first <= position)
    const end = Math.min(before, ...segments.filter((first) => first > position))
    if (segment === undefined) return { first: position, end, count: 0, memory: new Map() }
    const entries: KeyEntry[] = []
    for await (const counted of this.#options.records(segment, end)) entries.push(...this.#options.keysOf(counted))
    entries.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    const range = { first: segment, end, count: entries.length }
    const file = await this.#write(range, entries.map(encodeEntry)).catch(() => undefined)
    if (file !== undefined) return { ...range, file }
    const memory = new Map<KeyHash, KeyEntry[]>()
    for (const entry of entries) memory.set(entry.key, [...(memory.get(entry.key) ?? []), entry])
    return { ...range, memory }
  }

  /** Writes beside and renames: a reader sees a whole file or none. Not synced, since a torn one is noticed and made again. */
  async #write(range: { first: number; end: number; count: number }, entries: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<IdFile> {
    const { disk, ids, directory } = this.#options
    const path = join(directory, idFile(range.first))
    const beside = `${path}.${ids.hex(12)}.tmp`
    const file = await disk.open(beside, 'create')
    try {
      await writeIdFile(file, range, entries)
      await disk.rename(beside, path)
      const written = await readIdFile(file)
      if (written === undefined) throw new RottenIdFile()
      return written
    } catch (error) {
      await file.close()
      await disk.remove(beside).catch(() => undefined)
      throw error
    }
  }

  /** Merges from the newest backwards while a neighbour is less than twice as large: at most log2(n) files remain. */
  async #merge(sources: readonly Source[]): Promise<void> {
    const row = [...sources]
    while (row.length > 1) {
      const newer = row.at(-1)
      const older = row.at(-2)
      if (newer?.file === undefined || older?.file === undefined || older.count >= 2 * newer.count) return
      const range = { first: older.first, end: newer.end, count: older.count + newer.count }
      const file = await this.#write(range, mergeEntries(older.file, newer.file))
      const merged: Source = { ...range, file }
      row.splice(-2, 2, merged)
      await this.#drop([older, newer])
      this.#sources = [...this.#sources, merged].sort((a, b) => a.first - b.first)
      await this.#remove(idFile(newer.first))
    }
  }

  async #discard(sources: readonly Source[]): Promise<void> {
    await this.#drop(sources)
    for (const { first } of sources) await this.#remove(idFile(first))
  }

  async #drop(sources: readonly Source[]): Promise<void> {
    this.#sources = this.#sources.filter((source) => !sources.includes(source))
    for (const { file } of sources) await file?.file.close().catch(() => undefined)
  }

  async #remove(name: string): Promise<void> {
    // A stale or rotten file that stays is only found stale or rotten again.
    await this.#options.disk.remove(join(this.#options.directory, name)).catch(() => undefined)
  }
}

function find(source: Source, key: KeyHash): readonly KeyEntry[] {
  return source.file === undefined ? (source.memory.get(key) ?? []) : findKey(source.file, key)
}

async function* mergeEntries(a: IdFile, b: IdFile): AsyncGenerator<Buffer> {
  const left = allEntries(a)
  const right = allEntries(b)
  let [x, y] = [await left.next(), await right.next()]
  while (!x.done || !y.done) {
    if (y.done || (!x.done && x.value.compare(y.value, 0, 16, 0, 16) <= 0)) {
      if (!x.done) yield x.value
      x = await left.next()
    } else {
      yield y.value
      y = await right.next()
    }
  }
}
