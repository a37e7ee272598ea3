/**
 * Making a catalog anew, beside the one that is in use: in a file that nobody else knows of until it is finished. So each session is read once,
 * rows and text are put in one large transaction, and nothing is synced before the end; lists and searches go on with the old catalog meanwhile. If
 * the process dies, the old one is still there, and the next attempt removes what this one has left. Several processes may make one each at once: the
 * last that is finished is used.
 */
import type { Ids } from '../engine/ids.ts'
import type { Engine } from '../engine/port.ts'
import { HoldfastError } from '../errors.ts'
import type { Examining, Whole } from './examiner.ts'
import { breath, Indexer, type IndexerOptions, isCatalogued } from './indexer.ts'
import { SqliteCatalog } from './sqlite/catalog.ts'
import { draftFile, publishDraft, removeDraft } from './sqlite/file.ts'

/** Sessions that are read together. */
const BATCH = 64

type RebuildOptions = Omit<IndexerOptions, 'catalog'> & { readonly directory: string; readonly ids: Ids }

export class Rebuild {
  readonly #options: RebuildOptions
  /** How many sessions were put, and how many there were to put. */
  sessions = 0
  of = 0

  constructor(options: RebuildOptions) {
    this.#options = options
  }

  /** Returns how many sessions there are. Throws CatalogBroken, CatalogUnavailable. */
  async run(): Promise<number> {
    const { directory, ids } = this.#options
    const path = await draftFile(directory, ids)
    try {
      await this.#make(path)
      await publishDraft(directory, path)
      return this.sessions
    } catch (error) {
      await removeDraft(path)
      throw error
    }
  }

  async #make(path: string): Promise<void> {
    const { engine, signal } = this.#options
    const catalog = new SqliteCatalog(path, { draft: true })
    const indexer = new Indexer({ ...this.#options, catalog })
    try {
      // What is written from here on is announced behind it.
      const { cursor } = await engine.changes()
      await this.#fill(engine, catalog, indexer)
      await catalog.advance(null, cursor)
      catalog.finish()
      await indexer.catchUp()
      while (!signal.aborted && (await indexer.index())) await breath()
      // What was erased while it was made was scrubbed out of the catalog in use, and not out of this one.
      if (catalog.hasRemains()) await catalog.scrub()
      catalog.noteThorough()
      this.sessions = (await catalog.names()).length
      // It gets another name, and its log would not: closing it does not always empty that.
      catalog.emptyLog()
    } finally {
      await indexer.close()
      await catalog.close()
    }
  }

  async #fill(engine: Engine, catalog: SqliteCatalog, indexer: Indexer): Promise<void> {
    const reading: Reading[] = []
    let ahead = 1
    const putOne = async (): Promise<void> => {
      if (this.#options.signal.aborted) throw new HoldfastError('CLOSED', 'The store is closed. Open it again.')
      const next = reading.shift() as Reading
      // One thread reads while this one puts. Two do if it has to wait for them, as for a slow disk; otherwise they would only take its processor.
      ahead = next.isRead ? 1 : 2
      const wholes = await next.wholes
      await put(catalog, wholes)
      this.sessions += wholes.length
      await breath()
    }
    const names: string[] = []
    for await (const name of engine.names()) if (isCatalogued(name)) names.push(name)
    this.of = names.length
    for (let at = 0; at < names.length; at += BATCH) {
      reading.push(new Reading(indexer.otherThread(), names.slice(at, at + BATCH)))
      while (reading.length > ahead) await putOne()
    }
    while (reading.length > 0) await putOne()
  }
}

/** Sessions that are being read. */
class Reading {
  readonly wholes: Promise<(Whole | undefined)[]>
  isRead = false

  constructor(reader: Examining, names: readonly string[]) {
    this.wholes = reader.wholes(names)
    const ended = (): void => {
      this.isRead = true
    }
    this.wholes.then(ended, ended)
  }
}

async function put(catalog: SqliteCatalog, wholes: readonly (Whole | undefined)[]): Promise<void> {
  const found = wholes.filter((whole) => whole !== undefined)
  await catalog.put(found.map(({ row }) => row))
  await catalog.putText(found.flatMap(({ text }) => (text === undefined ? [] : [text])))
}
