/** An engine that reports each append to an observer, with how long it took. */
import { EngineWrapper } from '../engine/engine-wrapper.ts'
import { JournalWrapper } from '../engine/journal-wrapper.ts'
import type { Appended, AppendOptions, Engine, Journal } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'

/** A group of records that is on the disk. */
export interface GroupWrite {
  readonly seconds: number
  readonly records: number
  readonly bytes: number
}

export interface WriteObserver {
  wrote(write: GroupWrite): void
  /** `undefined`: the append succeeded, or another process was first. */
  ended(failure: HoldfastError['code'] | 'INTERNAL' | undefined): void
}

const NEWLINE = 0x0a

export class MeteredEngine extends EngineWrapper {
  readonly #observer: WriteObserver
  /** A journal of the inner engine has one journal here: what others remember of it by its identity stays valid. */
  readonly #metered = new WeakMap<Journal, MeteredJournal>()

  constructor(inner: Engine, observer: WriteObserver) {
    super(inner)
    this.#observer = observer
  }

  override journal(name: string): Journal {
    const inner = this.inner.journal(name)
    const known = this.#metered.get(inner)
    if (known !== undefined) return known
    const metered = new MeteredJournal(inner, this.#observer)
    this.#metered.set(inner, metered)
    return metered
  }
}

class MeteredJournal extends JournalWrapper {
  readonly #observer: WriteObserver

  constructor(inner: Journal, observer: WriteObserver) {
    super(inner)
    this.#observer = observer
  }

  override async append(segment: number, at: number, group: Uint8Array, options?: AppendOptions): Promise<Appended> {
    const started = performance.now()
    try {
      const appended = await this.inner.append(segment, at, group, options)
      if (!appended.moved)
        this.#observer.wrote({ seconds: (performance.now() - started) / 1000, records: recordsIn(group), bytes: appended.placed })
      this.#observer.ended(appended.refusal?.code)
      return appended
    } catch (error) {
      this.#observer.ended(error instanceof HoldfastError ? error.code : 'INTERNAL')
      throw error
    }
  }
}

/** Every record has a line before it. */
function recordsIn(group: Uint8Array): number {
  let lines = 0
  for (let at = group.indexOf(NEWLINE); at !== -1; at = group.indexOf(NEWLINE, at + 1)) lines++
  return lines / 2
}
