/** Which segments of a journal hold lines that were read or placed and not synced, and from where on a failed sync makes them doubtful. */
import type { Journal } from '../engine/port.ts'
import { HoldfastError, withOutcomeUnknown } from '../errors.ts'

export class Unsynced {
  readonly #journal: Journal
  readonly #segments = new Set<number>()
  /** False if what was read last could not be made durable. */
  barrier = true
  /** A sync failed: lines from here on may not be on the disk, though they can be read. */
  suspectFrom: number | undefined
  /** Up to where this process has announced what others wrote. */
  #announced = -1

  constructor(journal: Journal) {
    this.#journal = journal
  }

  get empty(): boolean {
    return this.#segments.size === 0
  }

  add(segment: number): void {
    this.#segments.add(segment)
  }

  delete(segment: number): void {
    this.#segments.delete(segment)
  }

  clear(): void {
    this.#segments.clear()
  }

  async sync(): Promise<void> {
    for (const segment of [...this.#segments].sort((a, b) => a - b)) {
      this.barrier = await this.#journal.sync(segment)
      this.#segments.delete(segment)
    }
  }

  /** Another process may have written up to this position, and died before it announced that. */
  async announce(end: number): Promise<void> {
    if (end <= this.#announced) return
    try {
      await this.#journal.announce?.()
    } catch (error) {
      throw withOutcomeUnknown(error)
    }
    this.#announced = end
  }

  /** The position from which the next segment must carry lines. That includes lines which this segment carries itself, if it was never synced. */
  carryFrom({ segment, carriedFrom }: { readonly segment: number; readonly carriedFrom: number }): number | undefined {
    const { suspectFrom } = this
    return suspectFrom !== undefined && suspectFrom <= segment ? Math.min(suspectFrom, carriedFrom) : suspectFrom
  }

  /** True if this error is a failed sync. Then the lines that it was for are suspect. */
  suspect(error: unknown): boolean {
    if (!(error instanceof HoldfastError) || error.details.reason !== 'sync failed') return false
    const from = typeof error.details.from === 'number' ? error.details.from : (error.details.segment as number)
    this.suspectFrom = least(this.suspectFrom, from)
    return true
  }
}

/** The smaller one of those that are known. */
export function least(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.min(a, b)
}
