/**
 * The list of sessions as far as it is known: pages one behind the other, and what changes while one looks. It is a plain object that
 * tells its listeners once a frame at most, because agents may write hundreds of times a second.
 */
import type { RemoteStore } from 'holdfast/client'
import { Soon } from '../shell/soon.ts'

export type SessionInfo = Awaited<ReturnType<RemoteStore['list']>>['sessions'][number]
export type ListOptions = NonNullable<Parameters<RemoteStore['list']>[0]>
type Server = Pick<RemoteStore, 'list' | 'changes'>

/** The first page is small, so that something is there at once; those behind it are read when somebody scrolls there. */
const FIRST_PAGE = 100
const PAGE = 200
/** Whoever drags the list far down waits for fewer, larger ones. */
const LARGE_PAGE = 1000
/** How long changes are gathered before a list that they may not belong to is read again. */
const REREAD_MS = 1000

export class SessionsViewModel {
  readonly #server: Server
  readonly #options: ListOptions
  readonly #listeners = new Set<() => void>()
  readonly #ending = new AbortController()
  #rows: SessionInfo[] = []
  #places: Map<string, number> | undefined
  #cursor: string | null | undefined
  #loading: Promise<void> | undefined
  #isStale = true
  /** What has changed since the first page was asked for, while it is. */
  #meanwhile: SessionInfo[] | undefined
  #wanted = 0
  #frame = 0
  readonly #reread = new Soon(REREAD_MS, () => void this.reload())
  /** Changes with every change of anything below. */
  version = 0
  total = 0
  error: unknown
  /** Sessions that have changed, or come, and whose place in the list was left as it is. */
  waiting = new Set<string>()
  /** Whether a session that changes may move to the front: not while somebody reads further down. */
  mayMove = true

  constructor(server: Server, options: ListOptions) {
    this.#server = server
    this.#options = options
  }

  get rows(): readonly SessionInfo[] {
    return this.#rows
  }

  get isLoaded(): boolean {
    return this.#cursor !== undefined
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Reads until so many are known, or there are no more. */
  want(count: number): void {
    this.#wanted = Math.max(this.#wanted, count)
    void this.#load()
  }

  /** Begins anew, and keeps what is shown until there is something else. */
  reload(): Promise<void> {
    this.waiting.clear()
    this.error = undefined
    this.#isStale = true
    return this.#load()
  }

  /** One page after the other: of two answers to the same question the older one could come last. */
  #load(): Promise<void> {
    this.#loading ??= this.#loadPages().finally(() => {
      this.#loading = undefined
      // Asked for between the last page and this line.
      if (this.#mustLoad) void this.#load()
    })
    return this.#loading
  }

  async #loadPages(): Promise<void> {
    while (this.#mustLoad) {
      await (this.#isStale ? this.#first() : this.#next()).catch((error: unknown) => {
        this.error = error
      })
      this.#tell()
    }
  }

  get #mustLoad(): boolean {
    if (this.error !== undefined || this.#ending.signal.aborted) return false
    return this.#isStale || (this.#cursor !== null && this.#rows.length < this.#wanted)
  }

  async #first(): Promise<void> {
    this.#isStale = false
    // What changes from here on may be newer than the answer.
    const meanwhile: SessionInfo[] = []
    this.#meanwhile = meanwhile
    const page = await this.#server.list({ ...this.#options, limit: FIRST_PAGE, count: true }).finally(() => {
      this.#meanwhile = undefined
    })
    this.#rows = [...page.sessions]
    this.#have(page)
    for (const info of meanwhile) this.apply(info)
  }

  async #next(): Promise<void> {
    const limit = this.#wanted - this.#rows.length > LARGE_PAGE ? LARGE_PAGE : PAGE
    const page = await this.#server.list({ ...this.#options, limit, cursor: this.#cursor as string })
    const known = this.placeOf
    // One that changed meanwhile may come again further down.
    this.#rows = this.#rows.concat(page.sessions.filter(({ id }) => known(id) === undefined))
    this.#have(page)
  }

  #have({ cursor, total }: { readonly cursor: string | null; readonly total?: number }): void {
    this.#places = undefined
    this.#cursor = cursor
    this.total = cursor === null ? this.#rows.length : (total ?? this.total)
  }

  /** Shows what changes, until the signal ends it. */
  async follow(signal: AbortSignal): Promise<void> {
    for await (const info of this.#server.changes({ signal })) {
      // Not waited for: the list shows at once what changes while it is read.
      if (info === undefined) void this.reload()
      else this.apply(info)
    }
  }

  /** A session is not what it was. */
  apply(info: SessionInfo): void {
    this.#meanwhile?.push(info)
    const place = this.placeOf(info.id)
    const isPlain = Object.entries(this.#options).every(([name, value]) => value === undefined || name === 'order')
    const byTime = (this.#options.order ?? 'updated') === 'updated'
    const isGone = info.status === 'deleted' && this.#options.status !== 'deleted'
    if (isGone) this.#remove(place)
    else if (place !== undefined && (!byTime || place === 0)) this.#rows[place] = info
    else if (isPlain && byTime && this.mayMove) this.#toFront(info, place)
    else {
      if (place !== undefined) this.#rows[place] = info
      if (!this.mayMove) this.waiting.add(info.id)
      else this.#reread.ask()
    }
    this.#tell()
  }

  #remove(place: number | undefined): void {
    if (place === undefined) return
    this.#rows.splice(place, 1)
    this.#places = undefined
    this.total = Math.max(this.total - 1, this.#rows.length)
  }

  #toFront(info: SessionInfo, place: number | undefined): void {
    if (place !== undefined) this.#rows.splice(place, 1)
    // One that was not read yet may be new, or stand further down: only a fresh count could tell.
    else if (Date.parse(info.updatedAt) - Date.parse(info.createdAt) < REREAD_MS) this.total++
    this.#rows.unshift(info)
    this.#places = undefined
  }

  close(): void {
    this.#ending.abort()
    this.#reread.cancel()
    cancelAnimationFrame(this.#frame)
  }

  placeOf = (id: string): number | undefined => {
    // Most changes concern one of the first few.
    for (let i = 0; i < Math.min(this.#rows.length, 50); i++) if (this.#rows[i]?.id === id) return i
    this.#places ??= new Map(this.#rows.map((row, index) => [row.id, index]))
    return this.#places.get(id)
  }

  #tell(): void {
    if (this.#frame !== 0) return
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      this.version++
      for (const listener of this.#listeners) listener()
    })
  }
}
