/**
 * Who did what: never what was said. One session a day in the store's own space. What opens or closes doors (keys, tokens, shares,
 * deletions, purges) is on the disk before it is answered; ordinary writes are counted by key, action and session, and written down
 * together a few times a second, so a server that is killed forgets at most the last of those counts.
 */
import { STORE_SPACE } from '../store/parts.ts'
import type { Store } from '../store/store.ts'

export interface Deed {
  readonly key: string
  readonly space: string
  /** Method and path of the route, without what was filled in. */
  readonly action: string
  readonly session: string | null
  readonly status: number
  readonly request: string
}

const FLUSH_MS = 250
/** Different deeds that wait at most; more are written down at once. */
const WAITING = 1000

interface Counted extends Omit<Deed, 'request'> {
  readonly at: string
  count: number
}

export class Audit {
  readonly #store: Store
  #waiting = new Map<string, Counted>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(store: Store) {
    this.#store = store.in(STORE_SPACE)
  }

  /** Resolves once it is on the disk. */
  async record(deed: Deed): Promise<void> {
    await this.#append([{ at: this.#now(), ...deed }])
  }

  /** Is written down soon. */
  count({ key, space, action, session, status }: Deed): void {
    const same = `${key}\n${space}\n${action}\n${status}\n${session}`
    const known = this.#waiting.get(same)
    if (known !== undefined) {
      known.count++
      return
    }
    this.#waiting.set(same, { at: this.#now(), key, space, action, session, status, count: 1 })
    if (this.#waiting.size >= WAITING) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS)
  }

  /** Writes down what waits. A store that refuses it keeps nobody from his work. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const deeds = [...this.#waiting.values()]
    this.#waiting = new Map()
    if (deeds.length > 0) this.#writing = Promise.all([this.#writing, this.#append(deeds).catch(() => undefined)]).then(() => undefined)
    await this.#writing
  }

  async #append(deeds: readonly object[]): Promise<void> {
    const session = await this.#store.session(`audit-${this.#now().slice(0, 10)}`)
    await session.append(deeds)
  }

  #now(): string {
    return new Date(this.#store.parts.clock.now()).toISOString()
  }
}
