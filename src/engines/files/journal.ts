/**
 * One journal on a disk: the steps of docs/format.md that touch the disk. What the lines mean is for the caller to decide.
 *
 * If the process dies in `append`: before the write, nothing happened; inside or after it, lines that stand whole at their position
 * count, for every reader, whether or not they were acknowledged; a torn line is spoiled by the next lead-in.
 * In `roll`: an empty or half-made segment is finished by the next writer, from the same seal, with the same bytes.
 * In `purge`: segments are removed in ascending order, so what is left is one range.
 */
import { join } from 'node:path'
import type { Appended, AppendOptions, Chunk, Journal, Oddity, Vanished } from '../../engine/port.ts'
import { HoldfastError, withOutcomeUnknown } from '../../errors.ts'
import { type Counted, JournalFold, type Verdict } from '../../record/fold.ts'
import { type KeyEntry, type KeyHash, keysOfLine } from '../../record/key-hash.ts'
import { type Attempt, endOf, isAt, isPlace, MOVED, placedOf, writeNow, writeSoon } from './attempt.ts'
import type { Directories } from './directories.ts'
import type { Exclusive } from './exclusive.ts'
import { isFull, isMissing, noSpace, unreadable, unwritable } from './failures.ts'
import type { Feed } from './feed.ts'
import { IdIndex, type IdIndexOptions } from './id-index.ts'
import type { IdIndexes } from './id-indexes.ts'
import { inspectJournal } from './inspect.ts'
import { firstOf, segmentFile } from './names.ts'
import type { OpenSegments } from './open-segments.ts'
import { Reach } from './reach.ts'
import { readLines } from './read-lines.ts'
import type { Reserve } from './reserve.ts'
import type { Segment } from './segment.ts'
import type { Watermarks } from './watermarks.ts'

/** What the journals of one store share. */
export interface JournalParts extends Pick<IdIndexOptions, 'disk' | 'ids' | 'clock' | 'keysOf'> {
  readonly root: string
  readonly directories: Directories
  readonly segments: OpenSegments
  readonly indexes: IdIndexes
  readonly feed: Feed
  readonly reserve: Reserve
  readonly watermarks: Watermarks
  readonly exclusive: Exclusive | undefined
  readonly syncWriteBytes: number
  readonly readBytes: number
  /** Counts work under way, so that closing the store can wait for it; refuses it once the store is closed. */
  readonly track: <T>(work: () => Promise<T>) => Promise<T>
}

const NEWLINE = Buffer.from('\n')

export class FilesJournal implements Journal {
  readonly name: string
  readonly #parts: JournalParts
  readonly #directory: string
  readonly #reach: Reach
  /** The last segment that this handle has made. */
  #made: number | undefined
  /** It had a segment once: then its directory is there for good. */
  #isThere = false

  constructor(name: string, parts: JournalParts) {
    this.name = name
    this.#parts = parts
    this.#directory = join(parts.root, 'sessions', name)
    this.#reach = new Reach(name, parts, {
      segments: () => this.#segments(),
      size: (segment) => parts.disk.statSync(join(this.#directory, segmentFile(segment)))?.size,
      hold: (segment) => this.#holdCurrent(segment),
      verdicts: (segment, successor) => this.#verdicts(segment, successor),
    })
  }

  segments(): Promise<number[]> {
    return this.#parts.track(() => this.#segments())
  }

  read(segment: number, from: number, limit = this.#parts.readBytes): Promise<Chunk | undefined> {
    return this.#parts.track(() => this.#read(segment, from, limit))
  }

  append(segment: number, at: number, group: Uint8Array, options: AppendOptions = {}): Promise<Appended> {
    return this.#parts.track(async () => {
      let open = this.#holdNow(segment)
      if (open === undefined || !open.settled) {
        open?.release()
        open = await this.#settle(segment, at, options)
      }
      if (open === undefined) return MOVED
      try {
        if (this.#parts.exclusive !== undefined) await this.#parts.exclusive.check()
        if (open.poisoned && options.sync !== false) throw open.failure('none')
        if (!(options.accepting === true || this.#reach.isVerified(open) || (await this.#reach.verify(open, 'none')))) return MOVED
        if (options.opened !== undefined && options.opened !== open.opened) return MOVED
        if (open.closed || !isPlace(open, at)) return MOVED
        const now = options.hurry === true || group.length <= this.#parts.syncWriteBytes
        const attempt = now ? writeNow(open, group) : await writeSoon(open, group)
        const whole = attempt.written === group.length
        // The disk begins at once; whether the group stands where it must, and all else, is seen to meanwhile.
        const synced = whole ? this.#beginSync(open, at + group.length, options) : undefined
        const stands = whole && isAt(open, at + group.length)
        const result: Appended = stands ? { moved: false, placed: group.length } : await this.#look(open, at, group, attempt, options)
        open.noteEnd(at, stands ? group : group.subarray(0, result.placed))
        if (result.placed === 0) return result
        try {
          const isVerified = options.accepting === true || this.#reach.isVerified(open)
          if (result.placed === group.length) options.standing?.()
          await this.#announced(synced ?? this.#beginSync(open, at + result.placed, options), options.time)
          if (!isVerified) await this.#reach.verify(open, 'unknown')
        } catch (error) {
          // What fails by now does not undo what stands.
          throw withOutcomeUnknown(error)
        }
        if (stands && synced !== undefined) this.#reach.mark(group, at, open)
        if (this.#parts.reserve.isDue) this.#refill()
        // Not spread: that alone took a twentieth of an append.
        return { moved: false, placed: result.placed, refusal: result.refusal, opened: open.opened }
      } catch (error) {
        if (open.poisoned) this.#parts.segments.discard(this.#directory, open)
        throw error
      } finally {
        open.release()
      }
    })
  }

  sync(segment: number): Promise<boolean> {
    return this.#parts.track(async () => {
      const open = this.#holdNow(segment) ?? (await this.#hold(segment))
      return open === undefined || this.#using(open, () => open.sync())
    })
  }

  announce(): Promise<void> {
    return this.#parts.track(() => this.#announced(undefined))
  }

  roll(first: number, preamble: Uint8Array, { urgent = false }: { readonly urgent?: boolean } = {}): Promise<void> {
    return this.#parts.track(async () => {
      const isNew = !this.#isThere && (await this.#segments()).length === 0
      if (isNew) await this.#parts.directories.make(`sessions/${this.name}`)
      const open = await this.#create(first)
      if (open === undefined) throw new HoldfastError('UNAVAILABLE', 'The journal went away while its next segment was made.')
      await this.#using(open, async () => {
        const { end, written } = await this.#ensurePreamble(open, preamble, urgent)
        if (written) this.#made = first
        open.see(end)
        await open.sync()
      })
      this.#parts.segments.forgetBefore(this.#directory, first)
      // Otherwise the seal in front of it was announced.
      if (isNew) await this.#announced(undefined)
    })
  }

  /** Who made the next segment also writes the id file; for others it is enough to keep the keys. */
  storeKeys(segment: number, end: number, keys: ReadonlyMap<KeyHash, KeyEntry>): void {
    this.#parts
      .track(() =>
        this.#parts.indexes.use(this.name, this.#makeIndex, async (index) => {
          index.storeKeys(segment, end, keys)
          if (this.#made === end) await index.prepare(end)
        }),
      )
      // Derived, and made again when it is needed: a failure shows there.
      .catch(() => undefined)
  }

  lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
    return this.#parts.track(() => this.#parts.indexes.use(this.name, this.#makeIndex, (index) => index.lookup(keys, from, before)))
  }

  overwrite(segment: number, at: number, was: Uint8Array, line: Uint8Array): Promise<boolean> {
    return this.#parts.track(async () => {
      if (was.length !== line.length) throw new TypeError('A line can only be written over by one of the same length.')
      try {
        const path = join(this.#directory, segmentFile(segment))
        // With the newlines around it: what stands there must be all of a line.
        const [before, whole] = at === segment ? [0, was] : [1, Buffer.concat([NEWLINE, was])]
        const [old, fresh] = [Buffer.concat([whole, NEWLINE]), Buffer.concat([NEWLINE.subarray(0, before), line, NEWLINE])]
        if (!(await this.#parts.disk.overwrite(path, at - segment - before, old, fresh))) return false
        const keys = keysOfLine(line, this.#parts.keysOf)
        if (keys.length > 0) await this.#parts.indexes.use(this.name, this.#makeIndex, (index) => index.correct(keys))
        return true
      } catch (error) {
        if (isMissing(error)) return false
        throw unwritable(error, 'The journal', 'unknown')
      }
    })
  }

  purge(before: number): Promise<number> {
    return this.#parts.track(async () => {
      const segments = await this.#segments()
      let freed = 0
      try {
        await this.#parts.segments.close(this.#directory)
        if (segments.length > 0) await this.#parts.indexes.use(this.name, this.#makeIndex, (index) => index.forget(before))
        for (const [i, first] of segments.entries()) {
          const successor = segments[i + 1]
          if (successor === undefined || successor > before) break
          const path = join(this.#directory, segmentFile(first))
          const file = await this.#parts.disk.open(path, 'read')
          freed += file.stat().size
          await file.close()
          await this.#parts.disk.remove(path)
        }
        if (freed > 0) await this.#parts.disk.syncDirectory(this.#directory)
        // The room of a removed file comes back when it is closed; indexing may have opened one again.
        await this.#parts.segments.close(this.#directory)
      } catch (error) {
        throw unwritable(error, 'The journal')
      }
      return freed
    })
  }

  /** Id files are derived: they are removed, and made again of the segments. */
  rederive(): Promise<void> {
    return this.#parts.track(async () => {
      const last = (await this.#segments()).at(-1)
      if (last === undefined) return
      await this.#parts.indexes.use(this.name, this.#makeIndex, async (index) => {
        await index.forget(Number.POSITIVE_INFINITY)
        await index.prepare(last)
      })
    })
  }

  inspect(): AsyncGenerator<Oddity> {
    return inspectJournal({
      ...this.#parts,
      directory: this.#directory,
      segments: () => this.#segments(),
      verdicts: (segment, successor) => this.#verdicts(segment, successor),
    })
  }

  vanished(): Promise<Vanished | undefined> {
    return this.#parts.track(() => this.#reach.vanished())
  }

  mayHaveVanished(segment: number): boolean {
    const open = this.#holdNow(segment)
    open?.release()
    return open === undefined || !this.#reach.isVerified(open)
  }

  reach(): Promise<number> {
    return this.#parts.track(() => this.#reach.end())
  }

  async close(): Promise<void> {
    await this.#parts.segments.close(this.#directory)
    await this.#parts.indexes.close(this.name)
  }

  /** Beside the caller's way. Without room it is tried again later. */
  #refill(): void {
    this.#parts.track(() => this.#parts.reserve.fill()).catch(() => undefined)
  }

  async #segments(): Promise<number[]> {
    try {
      const names = await this.#parts.disk.list(this.#directory)
      return names
        .map((file) => firstOf(file, 'jsonl'))
        .filter((first) => first !== undefined)
        .sort((a, b) => a - b)
    } catch (error) {
      if (isMissing(error)) return []
      throw unreadable(error, 'The journal')
    }
  }

  async #read(segment: number, from: number, limit: number): Promise<Chunk | undefined> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const open = this.#holdNow(segment) ?? (await this.#hold(segment))
      if (open === undefined) return undefined
      try {
        const chunk = open.isUnchangedBefore(from) ? await readLines(open, from, limit, this.#parts.syncWriteBytes) : undefined
        if (chunk !== undefined) return chunk
        // Its path names another file, or it was cut and has grown again: what is there now is opened like a new one.
        this.#parts.segments.discard(this.#directory, open)
      } catch (error) {
        throw unreadable(error, 'The journal')
      } finally {
        open.release()
      }
    }
    return undefined
  }

  readonly #makeIndex = (): IdIndex =>
    new IdIndex({
      ...this.#parts,
      directory: this.#directory,
      records: (segment, successor) => this.#records(segment, successor),
      segments: () => this.#segments(),
    })

  #holdNow(segment: number): Segment | undefined {
    return this.#parts.segments.holdNow(this.#directory, segment)
  }

  async #hold(segment: number, create = false): Promise<Segment | undefined> {
    const open = await this.#parts.segments.hold(this.#directory, segment, create)
    this.#isThere ||= open !== undefined
    return open
  }

  /** Opens a segment, or makes it; also its directory, if another program has removed that. */
  async #create(segment: number): Promise<Segment | undefined> {
    try {
      return await this.#hold(segment, true)
    } catch (error) {
      if (!(error instanceof HoldfastError) || !isMissing(error.cause)) throw error
      this.#parts.directories.forget(this.#directory)
      await this.#parts.directories.make(`sessions/${this.name}`)
      return this.#hold(segment, true)
    }
  }

  /**
   * Opens a segment for its first write by this process; undefined if it is not the last one. What stands in it and the names that lead
   * to it are made durable before anything is placed behind them: another process may have made them and died. Then it looks whether
   * a later segment exists: one that was purged meanwhile would otherwise be made again, by a writer that is late, and written to.
   */
  async #settle(segment: number, at: number, options: AppendOptions): Promise<Segment | undefined> {
    const sync = options.sync !== false
    let open = await this.#hold(segment)
    try {
      if (open === undefined && segment === 0 && at === 0 && (await this.#segments()).length === 0) {
        // A journal that vanished is not a new one.
        if (options.accepting !== true) await this.#reach.verify(undefined, 'none')
        await this.#parts.directories.make(`sessions/${this.name}`)
        open = await this.#create(segment)
      }
      if (open === undefined) return undefined
      // Rights may change: the next attempt opens it anew.
      if (!open.writable) this.#parts.segments.discard(this.#directory, open)
      if (!open.writable)
        throw new HoldfastError('UNAVAILABLE', 'The journal may only be read here. Check the owner, the rights and the mount of the store.')
      if (sync) await open.sync()
      if ((await this.#segments()).some((first) => first > segment)) {
        open.release()
        return undefined
      }
      open.settled = sync
      return open
    } catch (error) {
      if (open?.poisoned) this.#parts.segments.discard(this.#directory, open)
      open?.release()
      if (error instanceof HoldfastError && open?.poisoned) throw open.failure('none', error.cause)
      throw unwritable(error, 'The journal')
    }
  }

  /** The file that a segment's path names now. */
  async #holdCurrent(segment: number): Promise<Segment | undefined> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const open = await this.#hold(segment)
      if (open === undefined) return undefined
      let isCurrent = false
      try {
        isCurrent = endOf(open) !== undefined
        if (isCurrent) return open
        this.#parts.segments.discard(this.#directory, open)
      } finally {
        if (!isCurrent) open.release()
      }
    }
    return undefined
  }

  /** Bytes were written up to `end`, wherever that is by now: begins to make them durable. Undefined where that is not wanted. */
  #beginSync(open: Segment, end: number, options: AppendOptions): Promise<boolean> | undefined {
    open.see(end)
    if (options.sync === false || options.later === true) return undefined
    const synced = open.sync()
    // Whoever finds out first that nothing stands does not wait for it.
    synced.catch(() => undefined)
    return synced
  }

  async #using<T>(open: Segment, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (open.poisoned) this.#parts.segments.discard(this.#directory, open)
      throw error
    } finally {
      open.release()
    }
  }

  /** Announces that the journal changed, and waits for that and for the disk, even if one of them fails. */
  async #announced(synced: Promise<boolean> | undefined, time?: number): Promise<void> {
    const { feed, exclusive } = this.#parts
    try {
      await feed.announce(this.name, time)
    } finally {
      await synced
    }
    await exclusive?.check()
  }

  /** The group is not simply there. What stands of it, and why the rest does not. */
  async #look(open: Segment, at: number, group: Uint8Array, { written, failure }: Attempt, options: AppendOptions): Promise<Appended> {
    const placed = await placedOf(open, at, group)
    if (placed > 0 && endOf(open, 'unknown') === undefined) throw await this.#reach.whyReplaced()
    if (placed === group.length) return { moved: false, placed }
    const full = isFull(failure) || (failure === undefined && written < group.length)
    // With the reserve released, an urgent group is worth another attempt, like one that lost a race.
    if (full && options.urgent === true && (await this.#parts.reserve.release())) return { moved: false, placed }
    if (full) return { moved: false, placed, refusal: noSpace(failure) }
    return failure === undefined ? { moved: false, placed } : { moved: false, placed, refusal: unwritable(failure, 'The journal') }
  }

  /** The space kept in reserve is for this too, if something is to be removed: a store that cannot roll could not be emptied. */
  async #ensurePreamble(open: Segment, preamble: Uint8Array, urgent: boolean): Promise<{ end: number; written: boolean }> {
    try {
      for (let attempt = 0; ; attempt++) {
        const content = await open.file.read(0, open.file.stat().size)
        if (content.includes(Buffer.from(preamble.buffer, preamble.byteOffset, preamble.byteLength)))
          return { end: open.first + content.length, written: attempt > 0 }
        if (attempt === 2) throw noSpace()
        const written = await open.file.write(preamble).catch((error: unknown) => {
          if (!isFull(error)) throw error
          return 0
        })
        if (written < preamble.length && !(urgent && (await this.#parts.reserve.release()))) throw noSpace()
      }
    } catch (error) {
      throw unwritable(error, 'The journal')
    }
  }

  async *#records(first: number, successor: number): AsyncGenerator<Counted> {
    for await (const verdict of this.#verdicts(first, successor)) if (verdict.kind === 'counted') yield verdict
  }

  async *#verdicts(first: number, successor: number): AsyncGenerator<Verdict> {
    const fold = new JournalFold(first, successor)
    for (let from = first; ; ) {
      const chunk = await this.#read(first, from, this.#parts.readBytes)
      if (chunk === undefined || chunk.next === from) return
      for (const line of chunk.lines) yield fold.judge(line)
      from = chunk.next
    }
  }
}
