/**
 * When things of a source happened. What says no time itself happened with what came before it in the source, so that an imported session is not
 * listed as changed now. If the source has no time at all, it is imported as of now.
 */

/** Something in a source, or several messages of it. */
interface Timed {
  readonly at?: string | undefined
  readonly times?: readonly (string | null)[]
}

export class ImportTimes {
  #last: string | undefined

  /** The time of something in the source. */
  at(own: string | null | undefined): string | undefined {
    this.#last = own ?? this.#last
    return this.#last
  }
}

/** The first time that some content of a source has. */
export function firstTime(content: readonly Timed[]): string | undefined {
  for (const { at, times = [] } of content) {
    const first = at ?? times.find((time) => time !== null)
    if (first != null) return first
  }
  return undefined
}
