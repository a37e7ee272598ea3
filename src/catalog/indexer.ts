/**
 * What catches a catalog up. Rows first: everything that the feed announced since the last time, or, where it cannot tell, every session.
 * Then text, a bounded piece at a time, those sessions first that changed longest ago.
 *
 * Any number of processes may do this for one catalog at once. What each of them puts says what it was made for, and is refused if that no
 * longer holds; then the session is looked at again.
 */
import { type Catalog, CatalogUnavailable, type Known, type SessionPut, type TextPut } from '../engine/catalog.ts'
import type { Engine } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import { decodeLine } from '../record/line.ts'
import { Examiner } from './examiner.ts'

const SIDE_BY_SIDE = 16
/** Rows in one put. */
const BATCH = 128
/** How often a session is looked at again because another process was first. */
const TRIES = 100
/** Messages in one put of text, about, so that others who wait to write need not wait long. */
const SLICE_MESSAGES = 4000
const SLICE_SESSIONS = 256

export class Indexer {
  readonly catalog: Catalog
  readonly #engine: Engine
  readonly #examiner: Examiner
  /** Sessions whose text could not be read: left alone until they change. */
  readonly #stuck = new Set<string>()
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #indexing: Promise<boolean> | undefined
  /** How many sessions were looked at by the sweep that is under way; undefined if none is. */
  swept: number | undefined

  constructor(engine: Engine, catalog: Catalog, spaces: ReadonlySet<string>) {
    this.catalog = catalog
    this.#engine = engine
    this.#examiner = new Examiner(engine, spaces)
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
    this.swept = 0
    try {
      const met = new Set<string>()
      let batch: string[] = []
      for await (const name of this.#engine.names()) {
        met.add(name)
        batch.push(name)
        if (batch.length < BATCH) continue
        await this.#look(batch, false)
        this.swept += batch.length
        batch = []
      }
      await this.#look(batch, false)
      // One that was made meanwhile was not met.
      await this.#look(
        (await this.catalog.names()).filter((name) => !met.has(name)),
        false,
      )
    } finally {
      this.swept = undefined
    }
  }

  /** Puts a piece of the text that is behind. False if there is none. Calls that come while one is at it share it. */
  index(): Promise<boolean> {
    this.#indexing ??= this.#putPiece().finally(() => {
      this.#indexing = undefined
    })
    return this.#indexing
  }

  async #putPiece(): Promise<boolean> {
    const behind = await this.catalog.backlog(SLICE_SESSIONS + this.#stuck.size)
    const names = behind.filter((name) => !this.#stuck.has(name))
    const known = await this.catalog.known(names)
    const puts: TextPut[] = []
    let messages = 0
    for (let i = 0; i < names.length && messages < SLICE_MESSAGES; i += SIDE_BY_SIDE) {
      const some = await Promise.all(names.slice(i, i + SIDE_BY_SIDE).map((name, j) => this.#text(name, known[i + j])))
      for (const put of some) {
        if (put === undefined) continue
        puts.push(put)
        messages += put.messages.length + 1
      }
    }
    await this.catalog.putText(puts)
    return names.length > 0
  }

  async #apply(): Promise<void> {
    const from = await this.catalog.cursor()
    const { cursor, names, reset } = await this.#engine.changes(from ?? undefined)
    if (reset) await this.sweep()
    else await this.#look([...new Set([...names, ...(await this.catalog.unreadable())])], true)
    await this.catalog.advance(from, cursor)
  }

  /** Puts the rows of some sessions. `announced`: they have changed, and go on changing; otherwise most of them have not. */
  async #look(names: readonly string[], announced: boolean): Promise<void> {
    let left = names
    for (let tries = 0; left.length > 0; tries++) {
      if (tries > TRIES) throw new CatalogUnavailable('busy', 'Other processes put the same sessions all the time.')
      const again: string[] = []
      for (let i = 0; i < left.length; i += BATCH) again.push(...(await this.#lookAt(left.slice(i, i + BATCH), announced)))
      left = again
    }
  }

  async #lookAt(names: readonly string[], announced: boolean): Promise<string[]> {
    const known = await this.catalog.known(names)
    const rows: SessionPut[] = []
    const gone: string[] = []
    for (let i = 0; i < names.length; i += SIDE_BY_SIDE) {
      const some = names.slice(i, i + SIDE_BY_SIDE).map(async (name, j): Promise<void> => {
        const before = known[i + j]
        if (!announced && before !== undefined && (await this.#isUnchanged(name, before))) return
        const row = await this.#examiner.row(name, before, announced)
        if (row !== undefined) rows.push(row)
        else if (before !== undefined) gone.push(name)
        this.#stuck.delete(name)
      })
      await Promise.all(some)
    }
    await this.catalog.forget(gone)
    return this.catalog.put(rows)
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

  async #text(name: string, known: Known | undefined): Promise<TextPut | undefined> {
    const put = known === undefined ? undefined : await this.#examiner.text(name, known)
    if (put === undefined) this.#stuck.add(name)
    return put
  }
}
