/**
 * The watermarks of a store: how far each of its journals is known to reach (record/watermark.ts). They lie in `watermarks/`, outside of the
 * journals' own directories, in up to 256 shards that all processes append to:
 *
 *     watermarks/<2 hex>.<uuid>          the 2 hex digits are those of the journal's directory (watermark-file.ts)
 *
 * Watermarks are written at most a second late and when the store is closed, and are never synced: what one says is true whenever it survives.
 * If the process dies before that, the watermarks of its last second are lost, and with them only the means to notice a loss.
 *
 * A shard that has grown is compacted:
 *
 *   1. What counts goes into a new file, which is synced with its name.
 *   2. A byte is added to the old file, so that every process which has read it looks again and finds the new one. Then it gets another name,
 *      `<2 hex>.<uuid>.old`. It still counts, but no process writes to it any more: one that has it open finds that its path no longer names it, and
 *      writes again.
 *   3. What was added to it after it was read is copied and synced, and then it is removed.
 *
 * If the process dies in between, all these files exist, and the next compaction removes the old ones.
 */
import { join } from 'node:path'
import type { Clock } from '../../engine/clock.ts'
import type { Ids } from '../../engine/ids.ts'
import type { Watermark } from '../../record/watermark.ts'
import { type Disk, type DiskFile, type FileStat, isSameFile } from './disk.ts'
import { isMissing, isStrange } from './failures.ts'
import { encodeHeader, hashOfName, type Origin, uncovered, WatermarkFile } from './watermark-file.ts'

interface WatermarksOptions {
  readonly disk: Disk
  readonly clock: Clock
  readonly ids: Ids
  readonly directory: string
  readonly origin: Origin
  /** Shards that are kept in memory. */
  readonly shards: number
  /** A shard is compacted once it holds this much, and several times what it needs. */
  readonly compactBytes: number
}

/** What was read of a shard at some time: another object once there is more. */
export interface Shard {
  readonly files: readonly WatermarkFile[]
}

/** A watermark that was not written down yet. */
interface Pending {
  readonly name: string
  /** Found out when it is needed: most are followed by another one before that. */
  readonly mark: () => Watermark | undefined
  /** All of it had been verified for this journal. */
  readonly verified: Shard | undefined
}

/** A file that is larger was not written here: it would have been compacted. */
const MOST_BYTES = 64 * 1024 * 1024
const FLUSH_MS = 1000
/** After this time, a missing watermark is not one that is about to be written. */
const DUE_MS = 10 * FLUSH_MS
/** The first watermark of a shard is written sooner. */
const FIRST_FLUSH_MS = 20
/** A shard is compacted if that makes it at least this many times smaller. */
const WORTH = 3
/** How often a flush is tried against others who compact. */
const ATTEMPTS = 5

export class Watermarks {
  readonly #options: WatermarksOptions
  /** In order of use. */
  readonly #shards = new Map<string, Shard>()
  /** By journal: what this process acknowledged and has not written down. */
  readonly #pending = new Map<string, Pending>()
  readonly #closing = new AbortController()
  #flushing: Promise<void> | undefined
  #listing: Promise<string[]> | undefined

  constructor(options: WatermarksOptions) {
    this.#options = options
  }

  /** Every watermark of a journal that must hold, in files and of this process. Ask before the journal is read. */
  async of(name: string): Promise<{ readonly marks: readonly Watermark[]; readonly shard: Shard }> {
    const own = this.#pending.get(name)
    const shard = await this.#readOrRecall(shardOf(name))
    const hash = hashOfName(name)
    const marks: Watermark[] = shard.files.flatMap((file) => uncovered(file.entriesOf(hash)))
    const mark = own?.mark()
    return { marks: mark === undefined ? marks : [...marks, mark], shard }
  }

  /**
   * Whether nothing was added to a shard since it was read. False if that is unknown: only the directory shows whether a shard without a
   * file has one by now. Every entry is written to all files of a shard, so one known file is enough. Each append asks this twice, so nothing is opened or
   * allocated here.
   */
  isCurrent(shard: Shard): boolean {
    return shard.files.length > 0 && shard.files.every((file) => file.isCurrent)
  }

  /** A group was placed whole and synced, and is acknowledged next. `verified`: the shard whose watermarks of this journal all held. */
  add(name: string, mark: () => Watermark | undefined, verified: Shard | undefined): void {
    this.#pending.set(name, { name, mark, verified })
    // Until a shard has a file, each append must look for one.
    this.#flushing ??= this.#flushLater(verified?.files.length === 0 ? FIRST_FLUSH_MS : FLUSH_MS)
  }

  /** Names of journals that have watermarks, shard by shard. A name may come more than once. Watermarks that cannot be read say nothing. */
  async *names(): AsyncGenerator<{ readonly shard: string; readonly names: readonly string[] }> {
    // First: what is written down meanwhile is in the files.
    const pending = [...this.#pending.keys()]
    const files = await this.#list().catch(() => [])
    for (const shard of new Set([...files.map((file) => file.slice(0, 2)), ...pending.map(shardOf)])) {
      const read = await this.#read(shard, files).catch(() => undefined)
      const written = read?.files.flatMap((file) => [...file.all().values()]) ?? []
      const names = written.map(({ name }) => name).filter((name) => name !== undefined)
      yield { shard, names: [...names, ...pending.filter((name) => shardOf(name) === shard)] }
    }
  }

  /** Whether the journal of a file must have a watermark by now, unless the files of the store were copied, restored or deleted. */
  isDue({ createdMs }: FileStat): boolean {
    return this.#options.clock.now() - createdMs > DUE_MS
  }

  /** The system has no more files to give: closes those of half of the shards. What was read of them is read again when it is needed. */
  async relieve(): Promise<void> {
    const oldest = [...this.#shards.keys()].slice(0, Math.ceil(this.#shards.size / 2))
    await Promise.all(oldest.map((name) => this.#forget(name)))
  }

  /** Writes down what is pending. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#flushing
    await this.flush()
    await Promise.all([...this.#shards.keys()].map((name) => this.#forget(name)))
  }

  /** Writes down what is pending. What cannot be written stays so: watermarks are a means to notice a loss, and no append fails for them. */
  async flush(): Promise<void> {
    const shards = new Map<string, Pending[]>()
    for (const pending of this.#pending.values()) {
      const shard = shardOf(pending.name)
      shards.set(shard, [...(shards.get(shard) ?? []), pending])
    }
    for (const [shard, pending] of shards) {
      try {
        await this.#write(shard, pending)
        for (const item of pending) if (this.#pending.get(item.name) === item) this.#pending.delete(item.name)
        await this.#compact(shard)
      } catch {
        // It stays pending, and what was read of the shard stays known.
      }
    }
  }

  async #flushLater(delayMs = FLUSH_MS): Promise<void> {
    await this.#options.clock.sleep(delayMs, this.#closing.signal)
    if (!this.#closing.signal.aborted) await this.flush()
    this.#flushing = this.#pending.size > 0 && !this.#closing.signal.aborted ? this.#flushLater() : undefined
  }

  async #write(name: string, pending: readonly Pending[]): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const files = await this.#writable(name)
      if (files.length === 0) {
        await this.#start(name, () => [])
        continue
      }
      const written = await this.#appendToAll(files, (file) =>
        pending.flatMap(({ name: journal, mark: markOf, verified }) => {
          const mark = markOf()
          if (mark === undefined) return []
          const hash = hashOfName(journal)
          const checked = verified?.files.find(({ path }) => path === file.path)?.length ?? 0
          return [...(file.names(hash) ? [] : [file.encodeName(journal)]), file.encodeMark(hash, mark, checked)]
        }),
      )
      if (written) return
    }
    throw new Error('The watermarks could not be written: others keep compacting them.')
  }

  /**
   * Two processes that make the first file of a shard at once make two. Every file gets every entry, so that a process which knows only one of them
   * misses nothing.
   */
  async #appendToAll(
    files: readonly WatermarkFile[],
    entriesFor: (file: WatermarkFile) => readonly Buffer[],
    { sync = false } = {},
  ): Promise<boolean> {
    let written = true
    for (const file of files) written = (await this.#append(file, Buffer.concat(entriesFor(file)), sync)) && written
    return written
  }

  /** Those files of a shard that take entries. */
  async #writable(name: string): Promise<readonly WatermarkFile[]> {
    return (await this.#read(name, await this.#list())).files.filter(({ path }) => !path.endsWith(RETIRED))
  }

  /** False if the file was removed meanwhile: then what was added may be in no file that counts. */
  async #append({ path, stat }: WatermarkFile, bytes: Buffer, sync: boolean): Promise<boolean> {
    return this.#using(path, 'append', async (file) => {
      if (file === undefined || !isSameFile(file.stat(), stat)) return false
      await writeAll(file, bytes)
      if (sync) await file.sync()
      return this.#isAt(path, stat)
    })
  }

  /** Makes a file and puts it in place when its header is whole. Durable on return if there is something in it. */
  async #start(shard: string, entriesFor: (file: WatermarkFile) => readonly Buffer[]): Promise<void> {
    const { disk, ids, clock, directory, origin } = this.#options
    await disk.makeDirectory(directory)
    const name = `${shard}.${ids.next(clock.now())}`
    const path = join(directory, `.${name}.tmp`)
    try {
      await this.#using(path, 'create', async (file) => {
        if (file === undefined) return
        await writeAll(file, encodeHeader(origin, ids.hex(16), file.stat()))
        const started = await WatermarkFile.read(path, file, origin)
        const entries = started === undefined ? [] : entriesFor(started)
        if (entries.length === 0) return
        await writeAll(file, Buffer.concat(entries))
        await file.sync()
      })
      await disk.rename(path, join(directory, name))
    } catch (error) {
      await disk.remove(path).catch(() => undefined)
      throw error
    }
    await disk.syncDirectory(directory)
  }

  async #compact(name: string): Promise<void> {
    const { disk, compactBytes } = this.#options
    const { files } = await this.#read(name, await this.#list())
    const size = files.reduce((sum, { length }) => sum + length, 0)
    if (size < compactBytes) return
    const kept = files.map((file) => entriesToKeep(file))
    const count = kept.reduce((sum, encode) => sum + encode.length, 0)
    if (count * BYTES_PER_JOURNAL * WORTH > size) return
    const opened = await Promise.all(files.map(async (file) => ({ file, handle: await disk.open(file.path, 'read') })))
    try {
      await this.#start(name, (target) => kept.flatMap((several) => several.map((encode) => encode(target))))
      const retired = files.map(({ path }) => (path.endsWith(RETIRED) ? path : `${path}${RETIRED}`))
      for (const [i, file] of files.entries()) {
        if (file.path === retired[i]) continue
        // Who has it open notices that something was added, and finds the new file.
        await this.#append(file, ADDED, false)
        await disk.rename(file.path, retired[i] as string).catch(ignoreMissing)
      }
      for (const { file, handle } of opened) {
        const grown = await file.more(handle)
        if (grown === undefined) throw new Error('The watermarks were cut while they were compacted.')
        await this.#copyLate(name, entriesToKeep(grown, file.length))
      }
      for (const path of retired) await disk.remove(path).catch(ignoreMissing)
    } finally {
      await Promise.all(opened.map(({ handle }) => handle.close()))
    }
  }

  async #copyLate(name: string, late: readonly ((target: WatermarkFile) => Buffer)[]): Promise<void> {
    if (late.length === 0) return
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const targets = await this.#writable(name)
      if (await this.#appendToAll(targets, (target) => late.map((encode) => encode(target)), { sync: true })) return
    }
    throw new Error('The watermarks could not be copied: others keep compacting them.')
  }

  /** A shard as it is now; if that cannot be read, as it was before: what it said then is still true. */
  async #readOrRecall(name: string): Promise<Shard> {
    try {
      return await this.#read(name, await this.#listTogether())
    } catch (error) {
      const known = this.#shards.get(name)
      if (known === undefined) throw error
      return known
    }
  }

  /** A shard as it is now. What was read before is not read again. */
  async #read(name: string, listed: readonly string[]): Promise<Shard> {
    const { shards } = this.#options
    const known = this.#shards.get(name)
    let files = await this.#readFiles(name, known, listed)
    // A file that is missing was compacted in the meantime: what it held is in another one.
    for (let attempt = 1; files === undefined && attempt < ATTEMPTS; attempt++)
      files = await this.#readFiles(name, known, await this.#list())
    if (files === undefined) throw new Error('The watermarks could not be read: others keep compacting them.')
    const same = known !== undefined && known.files.length === files.length && known.files.every((file, i) => file === files[i])
    const shard = same ? known : { files }
    this.#forget(name, files)
    this.#shards.set(name, shard)
    for (const oldest of this.#shards.keys()) {
      if (this.#shards.size <= shards) break
      this.#forget(oldest)
    }
    return shard
  }

  /** Closes the files of a shard, but for those that stay. Only `isCurrent` uses them, and that does not wait. */
  async #forget(name: string, staying: readonly WatermarkFile[] = []): Promise<void> {
    const files = this.#shards.get(name)?.files ?? []
    this.#shards.delete(name)
    await Promise.all(files.filter((file) => !staying.includes(file)).map((file) => file.close()))
  }

  /** Undefined if one of those that are listed is missing by now. */
  async #readFiles(name: string, known: Shard | undefined, listed: readonly string[]): Promise<WatermarkFile[] | undefined> {
    const files: WatermarkFile[] = []
    let isWhole = false
    try {
      for (const listedFile of listed.filter((file) => file.startsWith(`${name}.`)).toSorted()) {
        const path = join(this.#options.directory, listedFile)
        const before = known?.files.find((file) => file.path === path)
        const file = before !== undefined && this.#isSame(before) ? before : await this.#readFile(path, before).catch(ignoreStrange)
        if (file === 'missing') return undefined
        if (file !== undefined) files.push(file)
      }
      isWhole = true
      return files
    } finally {
      if (!isWhole) await Promise.all(files.filter((file) => !known?.files.includes(file)).map((file) => file.close()))
    }
  }

  /** Not if it was closed by who read the shard at the same time: then it is opened again. */
  #isSame({ path, stat, isCurrent }: WatermarkFile): boolean {
    return isCurrent && this.#isAt(path, stat)
  }

  #isAt(path: string, file: FileStat): boolean {
    const stat = this.#options.disk.statSync(path)
    return stat !== undefined && isSameFile(stat, file)
  }

  /** Undefined if it cannot be trusted. Otherwise it stays open. */
  async #readFile(path: string, before: WatermarkFile | undefined): Promise<WatermarkFile | undefined | 'missing'> {
    const file = await this.#open(path, 'read')
    if (file === undefined) return 'missing'
    let read: WatermarkFile | undefined
    try {
      const stat = file.stat()
      if (stat.size > MOST_BYTES) return undefined
      const isSame = before !== undefined && isSameFile(before.stat, stat) && stat.size >= before.length
      read = (isSame ? await before.more(file) : undefined) ?? (await WatermarkFile.read(path, file, this.#options.origin))
      return read
    } finally {
      if (read === undefined) await file.close()
    }
  }

  /** Undefined if there is no such file by now. */
  async #open(path: string, mode: 'create' | 'append' | 'read'): Promise<DiskFile | undefined> {
    try {
      return await this.#options.disk.open(path, mode)
    } catch (error) {
      if (!isMissing(error)) throw error
      return undefined
    }
  }

  async #using<T>(path: string, mode: 'create' | 'append', work: (file: DiskFile | undefined) => Promise<T>): Promise<T> {
    const file = await this.#open(path, mode)
    try {
      return await work(file)
    } finally {
      await file?.close()
    }
  }

  /** The names in the directory. Those who ask in the same moment share one look, which begins after all of them have asked. */
  #listTogether(): Promise<string[]> {
    this.#listing ??= Promise.resolve().then(() => {
      this.#listing = undefined
      return this.#list()
    })
    return this.#listing
  }

  async #list(): Promise<string[]> {
    try {
      return (await this.#options.disk.list(this.#options.directory)).filter((file) => SHARD_FILE.test(file))
    } catch (error) {
      if (isMissing(error)) return []
      throw error
    }
  }
}

const SHARD_FILE = /^[0-9a-f]{2}\.[0-9a-f-]+(\.old)?$/
/** How the name of a file ends that is about to be removed. */
const RETIRED = '.old'
/** What is added to a file that others are to look at again. It is no entry. */
const ADDED = Buffer.from('\n')
/** A name and a watermark. */
const BYTES_PER_JOURNAL = 105

/** The two hex digits of a journal's directory. */
function shardOf(name: string): string {
  return name.slice(33, 35)
}

/** What must be in the file that takes the place of this one, of those entries that start at an offset or after it: one item a journal. */
function entriesToKeep(file: WatermarkFile, from = 0): ((target: WatermarkFile) => Buffer)[] {
  return [...file.all(from)].map(([journal, { name, entries }]) => (target) => {
    const hash = Buffer.from(journal, 'hex')
    // Nothing of the new file was verified.
    const marks = uncovered(entries).map((entry) => target.encodeMark(hash, entry, 0))
    return Buffer.concat(name === undefined ? marks : [target.encodeName(name), ...marks])
  })
}

/** A full disk takes a part. */
async function writeAll(file: DiskFile, bytes: Buffer): Promise<void> {
  if ((await file.write(bytes)) < bytes.length) throw new Error('The disk is full.')
}

/** What another program put there is no file of watermarks, and must not keep anyone from the others. */
function ignoreStrange(error: unknown): undefined {
  if (!isStrange(error)) throw error
}

function ignoreMissing(error: unknown): void {
  if (!isMissing(error)) throw error
}
