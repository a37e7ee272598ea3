/**
 * What catches a catalog up. Rows first: everything that the feed announced since the last time, or, where it cannot tell, every session.
 * Then text, a bounded piece at a time, those sessions first that changed longest ago.
 *
 * Any number of processes may do this for one catalog at once. What each of them puts says what it was made for, and is refused if that no
 * longer holds; then the session is looked at again.
 */
import { type Catalog, CatalogUnavailable, type Known, type TextPut } from '../engine/catalog.ts'
import type { Clock } from '../engine/clock.ts'
import { KEY_SPACE, STORE_SPACE, spaceName } from '../engine/names.ts'
import type { Engine, Journal } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { decodeLine } from '../record/line.ts'
import { Examiner, type ExaminerOptions, type Examining, type Look, sideBySide } from './examiner.ts'
import { PIECE_BYTES } from './message-reader.ts'

/** Rows in one put. */
const BATCH = 128
/** How often a session is looked at again because another process was first. */
const TRIES = 100
/** How long one call puts text at most: whoever waits for it may have to answer. And of how many sessions a round consists, which may take several. */
const CALL_MS = 400
const ROUND_SESSIONS = 1024
/** Sessions, and bytes of their journals, whose text is put by one transaction: others who wait to write must not wait long. */
const SLICE_SESSIONS = 128
const SLICE_BYTES = 4 * 1024 * 1024
/** From so many sessions of a sweep, and so many bytes of text on, other threads read while this one puts. */
const MANY_SESSIONS = 1000
const MUCH_BYTES = 32 * 1024 * 1024
const READERS = 2
/** How many comparisons of journals with their rows are remembered. */
const MOST_COMPARED = 10_000

/** Lets everything go on that can. */
export function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const STORES_OWN = `${spaceName(STORE_SPACE)}/`
const KEYS = `${spaceName(KEY_SPACE)}/`

/** The store's own facts are sessions of nobody: nobody lists or searches them, and they would be most of what changes. */
export function isCatalogued(name: string): boolean {
  return !name.startsWith(STORES_OWN)
}

/** What somebody found who has read all of some sessions. */
export interface Verified {
  readonly damaged: readonly string[]
  readonly whole: readonly string[]
}

export type Spawned = Examining & { close(): Promise<void> }

/** How far a look at every session is. */
export interface Sweeping {
  readonly looked: number
  readonly of: number
}

export interface IndexerOptions extends ExaminerOptions {
  readonly clock: Clock
  readonly catalog: Catalog
  /** Where to look for sessions that cannot tell their own space. */
  readonly spaces: ReadonlySet<string>
  /** Ends a sweep. */
  readonly signal: AbortSignal
  /** Starts a reader in another thread. */
  readonly spawn?: (() => Spawned) | undefined
}

export class Indexer {
  readonly catalog: Catalog
  readonly #engine: Engine
  readonly #dataKeys: IndexerOptions['dataKeys']
  readonly #clock: Clock
  readonly #examiner: Examiner
  /** Sessions whose text could not be read: left alone until they change. */
  readonly #stuck = new Set<string>()
  /** When a journal's end was compared with its row. */
  readonly #compared = new Map<string, number>()
  /** Sessions of this round of whose text no piece is put yet. */
  #left: readonly string[] = []
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #indexing: Promise<boolean> | undefined
  readonly #signal: AbortSignal
  readonly #spawn: (() => Spawned) | undefined
  readonly #spawned: Spawned[] = []
  #turn = 0
  /** The sweep that is under way. */
  sweeping: Sweeping | undefined

  constructor({ engine, dataKeys, clock, catalog, spaces, signal, spawn }: IndexerOptions) {
    this.catalog = catalog
    this.#engine = engine
    this.#clock = clock
    this.#signal = signal
    this.#spawn = spawn
    this.#dataKeys = dataKeys
    this.#examiner = new Examiner({ engine, dataKeys }, spaces)
  }

  /** Applies every change that was announced before this call. Calls that come while one is at it share the next one. */
  catchUp(): Promise<void> {
    if (this.#running === undefined) {
      this.#running = this.#apply().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.catchUp()
      })
    return this.#next
  }

  /** Looks at every session, whatever the feed says: what a writer that died has not announced is found. */
  async sweep(): Promise<void> {
    this.sweeping = { looked: 0, of: 0 }
    try {
      const met = new Set<string>()
      for await (const name of this.#engine.names()) if (isCatalogued(name)) met.add(name)
      const names = [...met]
      this.sweeping = { looked: 0, of: names.length }
      let before = Promise.resolve()
      for (let at = 0; at < names.length; at += BATCH) {
        if (this.#signal.aborted) throw new HoldfastError('CLOSED', 'The store is closed. Open it again.')
        // One batch is read while the one before is put.
        const looking = this.#look(names.slice(at, at + BATCH), at < MANY_SESSIONS ? this.#examiner : this.otherThread())
        looking.catch(() => undefined)
        await before
        this.sweeping = { looked: at, of: names.length }
        before = looking
        await breath()
      }
      await before
      // One that was made meanwhile was not met.
      await this.#look(
        (await this.catalog.names()).filter((name) => !met.has(name)),
        this.#examiner,
      )
    } finally {
      this.sweeping = undefined
    }
  }

  /** Puts a piece of the text that is behind. False if there is none. Calls that come while one is at it share it. */
  index(): Promise<boolean> {
    this.#indexing ??= this.#putPiece().finally(() => {
      this.#indexing = undefined
    })
    return this.#indexing
  }

  /** Whether the last call ended before it had put a piece of each session that was behind. */
  get isMidway(): boolean {
    return this.#left.length > 0
  }

  async #putPiece(): Promise<boolean> {
    const names = this.isMidway ? this.#left : await this.#behind()
    this.#left = []
    if (names.length === 0) return false
    const until = this.#clock.monotonicMs() + CALL_MS
    const examining = await this.#reader()
    const slices = slicesOf(names, await this.catalog.known(names))
    let next = this.#texts(examining, slices[0] ?? [])
    for (let i = 1; ; i++) {
      const puts = await next
      const slice = this.#clock.monotonicMs() < until ? slices[i] : undefined
      if (slice !== undefined) {
        // Read while these are put: which keeps this thread busy, so the question must have left it before.
        next = this.#texts(examining, slice)
        next.catch(() => undefined)
      }
      await breath()
      await this.catalog.putText(puts)
      if (slice !== undefined) continue
      this.#left = slices.slice(i).flat()
      return true
    }
  }

  async #behind(): Promise<string[]> {
    const behind = await this.catalog.backlog(ROUND_SESSIONS + this.#stuck.size)
    return behind.filter((name) => !this.#stuck.has(name))
  }

  /** Who reads text: while much of it is behind, another thread, if there may be one. */
  async #reader(): Promise<Examining> {
    if (this.#spawn === undefined) return this.#examiner
    const { bytes = 0 } = (await this.catalog.lag()) ?? {}
    if (bytes >= MUCH_BYTES) return this.otherThread()
    await this.close()
    return this.#examiner
  }

  /** A reader beside this thread, if there may be one; else it reads itself. They take turns: while one waits for the disk, the other reads. */
  otherThread(): Examining {
    if (this.#spawn === undefined) return this.#examiner
    const turn = this.#turn++ % READERS
    this.#spawned[turn] ??= this.#spawn()
    return this.#spawned[turn]
  }

  async #texts(examining: Examining, names: readonly string[]): Promise<TextPut[]> {
    const known = await this.catalog.known(names)
    const asked = names.flatMap((name, i) => (known[i] === undefined ? [] : [{ name, known: known[i] }]))
    const texts = await examining.texts(asked)
    const unread = asked.filter((_, i) => texts[i] === undefined).map(({ name }) => name)
    for (const name of unread) this.#stuck.add(name)
    await this.lookAtChanged(unread, { withinMs: 0 })
    return texts.filter((text) => text !== undefined)
  }

  /** Lets go of the other threads. */
  async close(): Promise<void> {
    await Promise.all(this.#spawned.splice(0).map((reader) => reader.close()))
  }

  async #apply(): Promise<void> {
    const from = await this.catalog.cursor()
    const { cursor, names, reset } = await this.#engine.changes(from ?? undefined)
    if (reset || names.some((name) => name.startsWith(KEYS))) await this.#lookAtKeyless()
    if (reset) await this.sweep()
    else await this.#look([...new Set([...names.filter(isCatalogued), ...(await this.catalog.unreadable())])], this.#examiner, 'announced')
    await this.catalog.advance(from, cursor)
  }

  /** The journal of a session whose key was destroyed has not changed. */
  async #lookAtKeyless(): Promise<void> {
    await this.#dataKeys?.passDestroyed(
      () => this.catalog.names(),
      (names) => this.#look(names, this.#examiner, 'damaged'),
    )
  }

  /**
   * Looks once more at sessions that somebody has read as a whole: at those that he found damaged, and those that he did not and that the catalog
   * says are.
   */
  async lookAgain({ damaged, whole }: Verified): Promise<void> {
    const known = await this.catalog.known(whole)
    const doubted = whole.filter((_, i) => known[i]?.status === 'damaged')
    await this.#look([...damaged, ...doubted].filter(isCatalogued), this.#examiner, 'damaged')
  }

  /**
   * Looks once more at those sessions whose files have changed without an announcement: they were cut, or others took their place. Those that it
   * compared just now are left out. True if there are such.
   */
  async lookAtChanged(all: readonly string[], { withinMs }: { readonly withinMs: number }): Promise<boolean> {
    const now = this.#clock.monotonicMs()
    const names = all.filter((name) => now - (this.#compared.get(name) ?? Number.NEGATIVE_INFINITY) >= withinMs)
    if (names.length === 0) return false
    this.#rememberCompared(names)
    const known = await this.catalog.known(names)
    const changes = await sideBySide([...names.entries()], ([i, name]) => this.#unannounced(name, known[i]))
    const those = (change: 'lost' | 'grown'): string[] => names.filter((_, i) => changes[i] === change)
    await this.#look(those('lost'), this.#examiner, 'damaged')
    await this.#look(those('grown'), this.#examiner)
    return changes.some((change) => change !== undefined)
  }

  #rememberCompared(names: readonly string[]): void {
    const now = this.#clock.monotonicMs()
    if (this.#compared.size > MOST_COMPARED) this.#compared.clear()
    for (const name of names) this.#compared.set(name, now)
  }

  /** A journal that is longer may be another session's. One that is as long is compared with its watermark, which costs one small read. */
  async #unannounced(name: string, known: Known | undefined): Promise<'lost' | 'grown' | undefined> {
    if (known?.status !== 'ok') return undefined
    const journal = this.#engine.journal(name)
    const end = await journal.reach?.()
    if (end === undefined) return undefined
    if (end > known.mark.end) return 'grown'
    return end < known.mark.end || (await isGone(journal)) ? 'lost' : undefined
  }

  /** Puts the rows of some sessions. */
  async #look(names: readonly string[], examining: Examining, look: Look = 'swept'): Promise<void> {
    let left = names
    for (let tries = 0; left.length > 0; tries++) {
      if (tries > TRIES) throw new CatalogUnavailable('busy', 'Other processes put the same sessions all the time.')
      const again: string[] = []
      for (let i = 0; i < left.length; i += BATCH) again.push(...(await this.#lookAt(left.slice(i, i + BATCH), examining, look)))
      left = again
    }
  }

  async #lookAt(names: readonly string[], examining: Examining, look: Look): Promise<string[]> {
    const known = await this.catalog.known(names)
    const asked = names.map((name, i) => ({ name, known: known[i] }))
    const isSame = async ({ name, known: before }: (typeof asked)[number]): Promise<boolean> =>
      before !== undefined && this.#isUnchanged(name, before)
    // Most of those that were not announced have not changed.
    const same = look === 'swept' ? await sideBySide(asked, isSame) : []
    const changed = asked.filter((_, i) => same[i] !== true)
    for (const { name } of changed) this.#stuck.delete(name)
    const rows = await examining.rows(changed, look)
    // A journal that is read is compared with its watermarks.
    this.#rememberCompared(changed.map(({ name }) => name))
    await this.catalog.forget(
      changed.filter(({ known: before }, i) => rows[i] === undefined && before !== undefined).map(({ name }) => name),
    )
    return this.catalog.put(rows.filter((row) => row !== undefined))
  }

  /** Whether a journal ends where it is known to end, with the same record. Far cheaper than reading what it comes to. */
  async #isUnchanged(name: string, { mark, text }: Known): Promise<boolean> {
    if (text.crc === '' || text.end !== mark.end) return false
    try {
      const journal = this.#engine.journal(name)
      const segment = (await journal.segments()).at(-1)
      if (segment === undefined || segment > text.at) return false
      const chunk = await journal.read(segment, text.at)
      const [first, ...more] = chunk?.lines ?? []
      if (chunk === undefined || first === undefined || chunk.end !== mark.end || more.some(({ bytes }) => bytes.length > 1)) return false
      const decoded = decodeLine(first.bytes)
      return decoded.kind === 'record' && decoded.crc === text.crc
    } catch (error) {
      if (error instanceof HoldfastError && error.code !== 'CLOSED') return false
      throw error
    }
  }
}

async function isGone(journal: Journal): Promise<boolean> {
  try {
    return (await journal.vanished?.()) !== undefined
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'UNREADABLE') return true
    throw error
  }
}

function slicesOf(names: readonly string[], known: readonly (Known | undefined)[]): string[][] {
  const slices: string[][] = []
  let bytes = 0
  for (const [i, name] of names.entries()) {
    const behind = known[i] === undefined ? 0 : Math.min(PIECE_BYTES, known[i].mark.end - known[i].text.end)
    const slice = slices.at(-1)
    bytes += behind
    if (slice !== undefined && slice.length < SLICE_SESSIONS && bytes <= SLICE_BYTES) slice.push(name)
    else {
      slices.push([name])
      bytes = behind
    }
  }
  return slices
}
