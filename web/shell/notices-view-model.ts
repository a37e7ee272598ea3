/** Short notices at the bottom of the page: results of actions, some with a way to undo them, and errors. Each disappears after a while. */
import { messageOf } from './message-of.ts'

export interface Notice {
  readonly id: number
  readonly text: string
  readonly kind: 'done' | 'failed'
  readonly undo?: (() => Promise<unknown>) | undefined
}

const DONE_MS = 8000
const FAILED_MS = 15_000
/** The page shows at most this many at once. */
const MOST_SHOWN = 3

export class NoticesViewModel {
  readonly #listeners = new Set<() => void>()
  #shown: readonly Notice[] = []
  #last = 0

  get shown(): readonly Notice[] {
    return this.#shown
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  notify(text: string, { undo, kind = 'done' }: { undo?: () => Promise<unknown>; kind?: Notice['kind'] } = {}): void {
    const id = ++this.#last
    this.#set([...this.#shown.slice(1 - MOST_SHOWN), { id, text, kind, undo }])
    setTimeout(() => this.dismiss(id), kind === 'done' ? DONE_MS : FAILED_MS)
  }

  dismiss(id: number): void {
    if (this.#shown.some((one) => one.id === id)) this.#set(this.#shown.filter((one) => one.id !== id))
  }

  /** Runs `work` and shows a notice about the result. Returns whether it succeeded. */
  async attempt(work: () => Promise<unknown>, done?: string, undo?: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      if (done !== undefined) this.notify(done, undo === undefined ? {} : { undo })
      return true
    } catch (error) {
      this.notify(messageOf(error), { kind: 'failed' })
      return false
    }
  }

  async undo({ id, undo }: Notice): Promise<void> {
    if (undo === undefined) return
    this.dismiss(id)
    await this.attempt(undo, 'Undone')
  }

  #set(next: readonly Notice[]): void {
    this.#shown = next
    for (const listener of this.#listeners) listener()
  }
}
