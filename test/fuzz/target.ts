/** Something that reads what others have written. */
export interface Target {
  readonly name: string
  /** Where it is: the fuzzer loads nothing else, because what it loads takes long to be prepared. */
  readonly module: string
  /** What the fuzzer begins with, besides the corpus that is kept. */
  readonly seeds: readonly Buffer[]
  /** Throws if something is wrong. */
  fuzz(data: Buffer): void | Promise<void>
}
