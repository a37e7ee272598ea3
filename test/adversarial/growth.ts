/**
 * Measures how the processor time of a call grows with the length of its text. Processor time is that of the whole process, so work that a
 * call leaves to another thread counts too, and waiting does not.
 */

/** Runs the call that is measured. */
export type Action = () => unknown
/** Makes the call for a text of this length. The time that it takes is not measured. */
export type Prepare = (length: number) => Action | Promise<Action>

/** A call whose time grows faster than its text. */
export interface Excess {
  readonly shortLength: number
  readonly longLength: number
  readonly shortMs: number
  readonly longMs: number
}

const LENGTH_FACTOR = 10
const MAX_GROWTH = 15
/**
 * A call that takes less time than this at the longer length passes. Below it, collecting garbage and compiling code decide the ratio, and
 * such a call does no harm. A loop that is quadratic is well above it at the lengths used here: 15,000 squared is 225 million steps.
 */
const FLOOR_MS = 20
/** How often both lengths are measured while they differ too much: noise only ever adds time, so the least of several is the true one. */
const ROUNDS = 5
/** A call that takes this long twice is slow enough to be sure. The first time may have loaded modules. */
const CERTAIN_MS = 500

/**
 * Compares the processor time at each length with the time at ten times that length. Takes the lengths in the order given and stops at the
 * first that grows too much, so list the shortest first: then no call with cubic growth ever gets a long text.
 *
 * @param floorMs the time below which a call passes. Defaults to 20. Raise it where a call without a text takes longer.
 * @returns the first excess, or undefined if there is none.
 */
export async function excessOf(prepare: Prepare, lengths: readonly number[], floorMs = FLOOR_MS): Promise<Excess | undefined> {
  for (const length of lengths) {
    const excess = await excessAt(prepare, length, floorMs)
    if (excess !== undefined) return excess
  }
  return undefined
}

async function excessAt(prepare: Prepare, shortLength: number, floorMs: number): Promise<Excess | undefined> {
  const longLength = shortLength * LENGTH_FACTOR
  const long = await prepare(longLength)
  let longMs = await processorMsOf(long)
  if (longMs < floorMs) return undefined
  const short = await prepare(shortLength)
  let shortMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < (longMs < CERTAIN_MS ? ROUNDS : 1); round++) {
    // Ten short texts are as much as a long one: so both suffer alike from what else the machine does.
    shortMs = Math.min(shortMs, (await processorMsOf(short, LENGTH_FACTOR)) / LENGTH_FACTOR)
    if (longMs <= MAX_GROWTH * shortMs) return undefined
    longMs = Math.min(longMs, await processorMsOf(long))
    if (longMs < floorMs || longMs <= MAX_GROWTH * shortMs) return undefined
  }
  return { shortLength, longLength, shortMs, longMs }
}

async function processorMsOf(action: Action, times = 1): Promise<number> {
  const before = process.cpuUsage()
  for (let time = 0; time < times; time++) await action()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
