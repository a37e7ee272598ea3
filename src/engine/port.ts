/**
 * The engine port: what stores journals. An engine moves lines; it never looks into their payloads, and it never decides what
 * counts. Whoever uses it folds the lines with the rules of record/fold.ts, decides, and appends at the place it has read up to.
 *
 * A journal is a row of segments. A segment is named by the first position that it holds. Positions are byte offsets in the
 * journal; gaps are legal. The same lines stand at the same positions on every engine.
 */
import type { HoldfastError } from '../errors.ts'
import type { KeyEntry, KeyHash } from '../record/key-hash.ts'
import type { Line } from '../record/line.ts'
import type { Catalog } from './catalog.ts'

export interface Engine {
  readonly supports: Supports
  /** What an operator should know about this store, found while opening it. */
  readonly warnings: readonly string[]
  /** Where what is derived from the store may lie beside it; absent if it has no such place. */
  readonly directory?: string

  /** The id of the store, which its directory states; absent if it has none. */
  readonly storeId?: string

  /**
   * Throws UNAVAILABLE if `directory` no longer is the store's: it was unmounted, moved or replaced. Returns how often another directory with the same store
   * took its place. Costs one stat.
   */
  checkDirectory?(): Promise<number>

  /** The name of a session's journal: opaque, stable, never the same for two sessions. */
  name(space: string, id: string): string

  /** A handle on one journal, whether it exists or not. Cheap; touches no disk. Handles on one name may be used at once. */
  journal(name: string): Journal

  /** Every journal of the store, or of one space, in no particular order. Sees each one that existed when it was called. */
  names(space?: string): AsyncIterable<string>

  /**
   * Which journals changed since `cursor`, an answer of an earlier call. Every change acknowledged before the call, by any process, is
   * in this answer or in an earlier one. `reset`: changes may have been missed (no cursor, one that no longer fits, a restart), and the
   * caller has to look at every journal.
   */
  changes(cursor?: string): Promise<Changes>

  /**
   * The latest time that a writer handed in with an append (`AppendOptions.time`), of all appends that were acknowledged before the call, by any
   * process: in milliseconds since 1970, 0 if nothing tells. A store orders its changes by it. Called before each write, so it is cheap.
   */
  latest?(): number | Promise<number>

  /** Calls back soon after something may have changed. A hint: calls may be missing or too many. Returns how to stop. */
  watch(hint: () => void): () => void

  /**
   * What lies beside the lines of one journal, or of the store, and does not belong there or does not agree with them. For an engine that keeps
   * more than lines. Changes nothing; may run while others write. UNREADABLE if it cannot look.
   */
  inspect?(name?: string): AsyncIterable<Oddity>

  /** Makes anew what is derived of one journal and lies beside its lines: whatever is stale, rotten or unfinished of it is gone then. */
  rederive?(name: string): Promise<void>

  /**
   * The catalog inside the store, for an engine that has room for one; without it, Holdfast keeps one next to the store. `empty`: clears it first.
   * Any number may be open at once.
   */
  catalog?(options: { readonly empty: boolean }): Promise<Catalog>

  /**
   * The lines that begin at some positions of any journals, in the order of the places, for an engine on which one question costs less than many. Undefined where
   * none begins; one that was carried elsewhere, or does not count, is not looked for: whoever needs it asks the journal. UNREADABLE.
   */
  lines?(places: readonly JournalPosition[]): Promise<(Line | undefined)[]>

  /** Waits for what is under way, then lets go of every file. Later calls are refused with CLOSED. */
  close(): Promise<void>
}

export interface JournalPosition {
  /** Of the journal. */
  readonly name: string
  readonly position: number
}

/** `stale-index`: derived, and rotten or in disagreement with the lines. `no-watermarks`: nothing says how far some journals reached. */
export interface Oddity {
  readonly kind: 'stale-index' | 'foreign-file' | 'no-watermarks'
  /** As an operator would name it. */
  readonly file: string
  /** First position of the segment that it concerns. */
  readonly segment?: number
}

export interface Supports {
  /** Acknowledged lines survive the end of the process and of the machine. */
  readonly durable: boolean
  /** Several processes may use one store at once. */
  readonly shared: boolean
}

export interface Changes {
  readonly cursor: string
  readonly names: readonly string[]
  readonly reset: boolean
}

export interface Journal {
  readonly name: string

  /** First positions of the segments, ascending; none if the journal is absent. UNREADABLE if that cannot be told. */
  segments(): Promise<number[]>

  /**
   * Whole lines of one segment, from `from` on, damaged and misplaced ones included; `limit` bounds the bytes, but one line is read
   * whole. Undefined if there is no such segment. What it returns may vanish at a power loss: call `sync` before showing it.
   * Reads what is there now: resolves without waiting for other work where the engine can.
   */
  read(segment: number, from: number, limit?: number): Promise<Chunk | undefined>

  /**
   * Compare-and-append: writes `group` if the segment's end is `at`, and otherwise nothing (`moved`). The first append makes segment
   * 0. The group must begin with the lead-in and end with a newline. Durable on return, unless `sync` is false or `later` is true.
   *
   * `placed` is how many bytes of the group stand where they must: all of them, or fewer after a full disk, a failed write or a race
   * lost inside the write. Lines that lie wholly inside count, the others never will.
   *
   * Throws UNAVAILABLE with outcome `unknown` if the sync failed; `details.from` is the position up to which this process knows
   * that the segment is on the disk. From then on the handle reads and writes through newly opened files.
   */
  append(segment: number, at: number, group: Uint8Array, options?: AppendOptions): Promise<Appended>

  /**
   * Makes every line that was read so far durable, with the names that lead to it. False if the store cannot be synced (a
   * read-only mount). Costs nothing if nothing is new. Throws like `append` if the sync fails.
   */
  sync(segment: number): Promise<boolean>

  /** Announces a change of the journal to `Engine.changes`, for an engine on which a process may have died after its write and before it did so. */
  announce?(): Promise<void>

  /**
   * Makes the segment that begins at `first`, which is the end of the seal before it, and puts `preamble` (lead-in, checkpoint,
   * carried lines) into it, unless it is there. All helpers of one roll hand in the same bytes. A journal that is absent begins with it: a copy of one
   * whose first segments were purged. Durable on return. `urgent` as for `append`.
   */
  roll(first: number, preamble: Uint8Array, options?: { readonly urgent?: boolean }): Promise<void>

  /**
   * What is known of these keys, of records at positions from `from` on and before `before`, which must be the first position of a
   * segment: it answers for sealed segments. Of several entries of one key in that range it returns the one with the highest position,
   * and of those the one with the highest index. A lost index is rebuilt first; it never answers "unknown" for a key that counts.
   */
  lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]>

  /**
   * Hands over what is known of the keys of a segment that was sealed and ends at `end`, the highest entry of each, all of them: saves
   * the engine reading it again. A hint; returns at once, and never fails.
   */
  storeKeys(segment: number, end: number, keys: ReadonlyMap<KeyHash, KeyEntry>): void

  /**
   * Puts `line` in the place of `was`, a line of the same length that begins at `at` in a segment (both without their newline): the only thing
   * that ever changes bytes that stand. False, and nothing happens, if `was` does not stand there. What the engine derived from the old line
   * follows. Durable on return. May run while others read and write; whoever reads meanwhile, or after a power loss inside of it, may find
   * the old line, the new one, or some bytes of each. Callers write down what they want before they call.
   */
  overwrite(segment: number, at: number, was: Uint8Array, line: Uint8Array): Promise<boolean>

  /** Removes every segment that ends at or before position `before`. Durable on return. Tells how many bytes were freed. */
  purge(before: number): Promise<number>

  /**
   * Compares the journal with how far this engine knows that it reached, and returns the stretch that has vanished: bytes that were
   * acknowledged and are no longer there. Undefined if nothing is missing. Changes nothing. Throws UNREADABLE if it cannot compare.
   */
  vanished?(): Promise<Vanished | undefined>

  /** Whether this engine has learned since the last comparison how far the journal reached. Then who has read this segment before compares again. Cheap. */
  mayHaveVanished?(segment: number): boolean

  /** Where the journal ends now, or a later position. 0 if it has no segment, undefined if the engine cannot say. Opens no file, so it is cheap for many journals. */
  reach?(): Promise<number | undefined>

  /** Lets go of open files. The handle can be used again. */
  close(): Promise<void>
}

/** A stretch of positions that a journal held and has lost. */
export interface Vanished {
  /** Nothing from here on is what was written, as far as is known. */
  readonly from: number
  /** The end of the last line that is known to be lost. */
  readonly to: number
}

export interface Chunk {
  readonly lines: readonly Line[]
  /** Where the next read goes on: behind the last whole line. */
  readonly next: number
  /** The append point: behind `next` if half a line stands at the end. */
  readonly end: number
  /**
   * Changes when the segment was opened again. Its name may stand for another file then, or for one that was cut and has grown again: the
   * caller has to make sure that the last line it read is still there.
   */
  readonly opened: number
}

export interface AppendOptions {
  /** Write at once, whatever the size: other writers keep winning. */
  readonly hurry?: boolean
  /** This group removes data or ends a segment: it may use the space kept in reserve. */
  readonly urgent?: boolean
  /** False for the seal of a segment that can no longer be synced. */
  readonly sync?: boolean
  /** It need not be durable on return, if the engine can do with less then; it is once something behind it is, or after `sync`. */
  readonly later?: boolean
  /** The opening (`Chunk.opened`) that the caller's knowledge of the segment rests on: if it is another one by now, nothing is written (`moved`). */
  readonly opened?: number | undefined
  /** The time of this change in the order of the store, for `Engine.latest`. */
  readonly time?: number
  /** Writes although part of the journal has vanished: for the record that accepts the loss. Otherwise such an append throws DAMAGED. */
  readonly accepting?: boolean
  /** Called, if the engine can, as soon as the whole group stands and before it is durable: for work to be done while the disk works. */
  readonly standing?: () => void
}

export interface Appended {
  /** As `Chunk.opened`, for an engine on which a segment can become another one. */
  readonly opened?: number
  /** The end of the segment was not `at`; nothing was written. */
  readonly moved: boolean
  readonly placed: number
  /** Why the rest could not be written, if it was no race: NO_SPACE or UNAVAILABLE, outcome `none`. */
  readonly refusal?: HoldfastError | undefined
}
