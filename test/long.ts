/**
 * How much of an exhaustive check a run does, and where it begins. `npm test` takes a sample of each, the same in every run;
 * `npm run test:random` takes another sample of the same size; `npm run test:long` (HOLDFAST_TEST_LONG=1) does all of it.
 */
const isLong = process.env.HOLDFAST_TEST_LONG === '1'

/** What all that is random in a test is drawn from. scripts/test.mjs prints it. */
export const SEED = Number(process.env.HOLDFAST_TEST_SEED ?? 1)

/** How many runs to make. */
export function runs(usual: number, long: number): number {
  return isLong ? long : usual
}

/** Every how many-th case to try: each of them in a long run. A step that is odd meets every bit of a byte. */
export function step(usual: number): number {
  return isLong ? 1 : usual
}

/** The first case to try of every `step`-th: an index below it. */
export function start(step: number): number {
  return SEED % step
}

/** One case in so many, and at least one. What is tried several times with other cases tells with `turn` which time it is. */
export function oneIn<T>(most: number, cases: readonly T[], turn = 0): T[] {
  const every = Math.min(most, cases.length)
  return cases.filter((_, index) => index % every === (start(every) + turn) % every)
}

/** One case in so many: each of them in a long run. */
export function sample<T>(cases: readonly T[], usual: number, turn = 0): T[] {
  return oneIn(step(usual), cases, turn)
}
