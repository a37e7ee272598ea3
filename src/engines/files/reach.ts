/** How far one journal is known to reach: its watermarks, compared with its lines when it is loaded and at each append. */
import type { Vanished } from '../../engine/port.ts'
import { type Outcome, withOutcomeUnknown } from '../../errors.ts'
import { watermarkOf } from '../../record/watermark.ts'
import { replaced, vanishedError } from './failures.ts'
import type { Feed } from './feed.ts'
import type { Segment } from './segment.ts'
import { type Contents, findVanished } from './vanished.ts'
import type { Shard, Watermarks } from './watermarks.ts'

export class Reach {
  readonly #name: string
  readonly #watermarks: Watermarks
  readonly #feed: Feed
  readonly #contents: Contents
  /** This process has announced that bytes have vanished. */
  #told = false

  constructor(name: string, { watermarks, feed }: { readonly watermarks: Watermarks; readonly feed: Feed }, contents: Contents) {
    this.#name = name
    this.#watermarks = watermarks
    this.#feed = feed
    this.#contents = contents
  }

  async vanished(): Promise<Vanished | undefined> {
    const last = (await this.#contents.segments()).at(-1)
    // Before the comparison: a file that takes its place later was not compared.
    const open = last === undefined ? undefined : await this.#contents.hold(last)
    try {
      const { vanished, shard } = await this.#compare()
      if (vanished === undefined && open !== undefined) open.verified = shard
      // Nothing was written, so other processes would not look. If the announcement fails, they notice at their next read.
      if (vanished !== undefined && !this.#told) await this.#feed.announce(this.#name).catch(() => undefined)
      this.#told = vanished !== undefined
      return vanished
    } finally {
      open?.release()
    }
  }

  /** Where the journal ends now; 0 if it has no segment. */
  async end(): Promise<number> {
    const last = (await this.#contents.segments()).at(-1) ?? 0
    return last + (this.#contents.size(last) ?? 0)
  }

  /** Whether every watermark of this journal that is known by now was found to hold. Waits for nothing: an append asks before and after its write. */
  isVerified({ verified }: Segment): boolean {
    try {
      return verified !== undefined && this.#watermarks.isCurrent(verified)
    } catch {
      return false
    }
  }

  /**
   * Throws DAMAGED if something vanished that a watermark covers. False if the journal continues in a later segment than this one: its seal may have been
   * cut off, and then nothing else shows that.
   */
  async verify(open: Segment | undefined, outcome: Outcome): Promise<boolean> {
    const { vanished, shard } = await this.#compare()
    if (vanished !== undefined) throw vanishedError(vanished, outcome)
    if (open === undefined) return true
    const isLast = !(await this.#contents.segments()).some((first) => first > open.first)
    if (isLast) open.verified = shard
    return isLast
  }

  /** Why the path of a segment that was written to names another file. The journal is listed first: in a directory that was moved, nothing has vanished. */
  async whyReplaced(): Promise<unknown> {
    try {
      await this.#contents.segments()
      await this.verify(undefined, 'unknown')
      return replaced()
    } catch (error) {
      return withOutcomeUnknown(error)
    }
  }

  /** A group was placed whole at a position and synced, and is acknowledged next. */
  mark(group: Uint8Array, at: number, { verified }: Segment): void {
    this.#watermarks.add(this.#name, () => watermarkOf(group, at), verified)
  }

  /** The watermarks are read first: in the other order, a line that was appended in between would seem to be missing. */
  async #compare(): Promise<{ readonly vanished?: Vanished; readonly shard?: Shard }> {
    const known = await this.#watermarks.of(this.#name).catch(() => undefined)
    // Watermarks that cannot be read say nothing: they must not keep anyone from the journal itself.
    if (known === undefined) return {}
    const vanished = await findVanished(known.marks, this.#contents)
    return vanished === undefined ? { shard: known.shard } : { vanished, shard: known.shard }
  }
}
