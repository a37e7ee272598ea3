/** Runs something a while after it is asked for. Calls to `ask` in the same while are one. */
export class Soon {
  readonly #ms: number
  readonly #run: () => void
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(ms: number, run: () => void) {
    this.#ms = ms
    this.#run = run
  }

  ask(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#run()
    }, this.#ms)
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
