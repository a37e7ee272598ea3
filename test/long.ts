/** How much of an exhaustive check a run does. `npm test` takes a sample of each; `npm run test:long` (HOLDFAST_TEST_LONG=1) does all of it. */
const isLong = process.env.HOLDFAST_TEST_LONG === '1'

/** How many runs to make. */
export function runs(usual: number, long: number): number {
  return isLong ? long : usual
}

/** Every how many-th case to try: each of them in a long run. A step that is odd meets every bit of a byte. */
export function step(usual: number): number {
  return isLong ? 1 : usual
}
