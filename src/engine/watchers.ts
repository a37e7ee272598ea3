/** Who wants to know that something may have changed. Hints come after the call that made the change, and one stands for all changes of a burst. */
export class Watchers {
  /** Each is an object of its own, because one function may be handed in twice and is then stopped once. */
  readonly #watchers = new Set<{ readonly hint: () => void }>()
  #hinting = false

  get size(): number {
    return this.#watchers.size
  }

  add(hint: () => void): () => void {
    const watcher = { hint }
    this.#watchers.add(watcher)
    return () => {
      this.#watchers.delete(watcher)
    }
  }

  hint(): void {
    if (this.#hinting || this.#watchers.size === 0) return
    this.#hinting = true
    queueMicrotask(() => {
      this.#hinting = false
      for (const watcher of [...this.#watchers]) {
        if (this.#watchers.has(watcher)) watcher.hint()
      }
    })
  }

  clear(): void {
    this.#watchers.clear()
  }
}
