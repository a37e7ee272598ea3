/**
 * Importing: sources into the sessions of a store. Each source is read once it is known not to have been imported as it is; its items go into
 * the sessions that they name, and what could not be read goes into the quarantine. The ledger learns of a source when everything of
 * it is durable: an import that was interrupted is repeated, finds by their ids the messages that are there, and goes on behind them.
 *
 * A source whose session comes from one that is yet to be imported waits for it.
 */
import { HoldfastError } from '../../errors.ts'
import { detect, IMPORTERS } from '../../formats/importers.ts'
import { type DamageItem, type Importer, itemsIn, type SessionItem, type Source, type SourceFile } from '../../formats/item.ts'
import { type Ready, readied } from '../../formats/ready.ts'
import { invalid } from '../../session/check.ts'
import { Handle } from '../../store/handle.ts'
import type { StoreParts } from '../../store/parts.ts'
import { partsOf, type Store } from '../../store/store.ts'
import { DigestedWhileRead, digestOfSource, largeSize } from './digest.ts'
import { garbageIn, garbageReport, isGarbage } from './garbage.ts'
import type { SessionImportOptions } from './import-scope.ts'
import { journalFiles } from './journal-files.ts'
import { Ledger } from './ledger.ts'
import { firstSession } from './order.ts'
import { type ImportedSession, type ImportOptions, ReportDraft } from './report.ts'
import { SessionImport } from './session-import.ts'
import type { ReaderThread } from './threaded.ts'

/** A thread of its own reads sources that have more bytes together. Smaller ones are read before it has started. */
const THREAD_BYTES = 1024 * 1024
/** What is kept of damage until the source is done. */
const KEPT_DAMAGE_BYTES = 16 * 1024 * 1024

const UNKNOWN = 'No known format was recognised. If it has one, name it: `from`, or --from at the command line.'
const NO_SOURCE = 'Give sources to import: what `sourcesAt(paths)` finds at a list of paths, or what `bytesSource` makes of bytes.'

interface Known {
  readonly source: Source
  readonly importer: Importer
}

/**
 * Imports sessions of other programs, or of another store. You can repeat it: what the store has is not changed.
 *
 * @param sources What `sourcesAt`, `bytesSource` or `bytesSources` returns.
 * @param options `from` defaults to the format that is recognised. `dryRun` defaults to false.
 * @returns A report of each session. A source that cannot be read while it is imported has a report, too. `sourcesAt` throws for a path that it cannot find.
 * @throws HoldfastError INVALID_ARGUMENT when there is no format `from`.
 * @throws HoldfastError CLOSED when the store is closed.
 * @throws HoldfastError NO_SPACE when the disk is full. What was written stays.
 * @example
 * for await (const report of importInto(store, sourcesAt(['./sessions']))) console.log(report.session, report.messages)
 */
export async function* importInto(
  store: Store,
  sources: AsyncIterable<Source> | Iterable<Source>,
  options: ImportOptions = {},
): AsyncGenerator<ImportedSession> {
  const run = new Run(partsOf(store, '`store.importFile()`'), options)
  if (typeof sources === 'string') throw invalid(NO_SOURCE)
  const known: Known[] = []
  for await (const source of sources) {
    if (!Array.isArray((source as Partial<Source> | null)?.files)) throw invalid(NO_SOURCE)
    if (options.signal?.aborted === true) return
    try {
      const importer = await run.importerOf(source)
      if (importer === undefined) yield await run.leave(source)
      else known.push({ source, importer })
    } catch (error) {
      yield unreadable(source, error)
    }
  }
  for (const one of known) if (known.length > 1) await run.relate(one)
  try {
    await run.prepareFor(known)
    yield* importAll(run, known, options)
  } finally {
    await run.close()
  }
}

async function* importAll(run: Run, known: readonly Known[], options: ImportOptions): AsyncGenerator<ImportedSession> {
  let waiting = known
  let done = 0
  for (let patient = true; waiting.length > 0; ) {
    const later: Known[] = []
    for (const one of waiting) {
      if (options.signal?.aborted === true) return
      if (patient && (await run.mustWait(one, waiting))) {
        later.push(one)
        continue
      }
      try {
        for await (const session of run.import(one)) {
          run.messages += session.messages
          yield session
        }
      } catch (error) {
        yield unreadable(one.source, error)
      }
      done++
      options.onProgress?.({ source: one.source.name, done, total: known.length, messages: run.messages })
    }
    // Nobody waits for what does not come.
    patient = later.length < waiting.length
    waiting = later
  }
}

class Run {
  messages = 0
  readonly #parts: StoreParts
  readonly #options: ImportOptions
  readonly #ledger: Ledger
  readonly #importers: readonly Importer[]
  readonly #called: SessionImportOptions['called'] = new Map()
  /** Parents that only the parents know of. */
  readonly #parentOf = new Map<string, string>()
  /** Of the source that is imported: whose children it tells of. */
  readonly #children = new Map<string, string>()
  #thread: ReaderThread | undefined

  constructor(parts: StoreParts, options: ImportOptions) {
    this.#parts = parts
    this.#options = options
    this.#ledger = new Ledger(parts)
    this.#importers = [...(options.importers ?? []), journalFiles, ...IMPORTERS]
  }

  async importerOf(source: Source): Promise<Importer | undefined> {
    const { from = 'auto' } = this.#options
    if (from === 'auto') return detect(source, this.#importers)
    for (const importer of this.#importers) {
      // Two importers have the name of Holdfast: that of its journals, and that of its exports.
      const isMeant = importer.name === from && (importer !== journalFiles || (await detect(source, [importer])) !== undefined)
      if (isMeant) return importer
    }
    const names = [...new Set(this.#importers.map(({ name }) => name))].join(', ')
    throw new HoldfastError('INVALID_ARGUMENT', `There is no importer "${from}". There are auto, ${names}.`)
  }

  /** A source of no known format. If nothing in it can be read, its bytes are kept. */
  async leave(source: Source): Promise<ImportedSession> {
    if (!(await isGarbage(source))) return left(source, null, UNKNOWN)
    const [file] = source.files as [SourceFile]
    if (this.#options.dryRun !== true) await this.#ledger.quarantine(source, await garbageIn(file, KEPT_DAMAGE_BYTES))
    return garbageReport(source)
  }

  /** Starts a thread that reads the sources, if they are large enough. A thread cannot run TypeScript, as in tests. */
  async prepareFor(known: readonly Known[]): Promise<void> {
    const bytes = known.reduce((sum, { source }) => source.files.reduce((of, { size }) => of + size, sum), 0)
    if (bytes < THREAD_BYTES || !/\.c?js$/.test(import.meta.url)) return
    const { ReaderThread } = await import('./threaded.ts')
    this.#thread = new ReaderThread()
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  /** Learns what only a parent tells of its children. One that cannot be read is told when its turn comes. */
  async relate({ source, importer }: Known): Promise<void> {
    const first = importer.relates === true ? await firstSession(importer, source).catch(() => undefined) : undefined
    for (const child of first?.children ?? []) this.#parentOf.set(child, first?.session as string)
  }

  /** Whether the session that this one comes from is still among those that wait. */
  async mustWait(one: Known, waiting: readonly Known[]): Promise<boolean> {
    if (waiting.length < 2) return false
    // What is wrong with it is reported when its turn comes.
    const first = await firstSession(one.importer, one.source).catch(() => undefined)
    const parent = first === undefined ? undefined : (first.parent?.session ?? this.#parentOf.get(first.session))
    if (parent === undefined || parent === first?.session || this.#called.has(parent)) return false
    return (await new Handle(this.#parts, parent).state()).status === 'absent'
  }

  async *import({ source, importer }: Known): AsyncGenerator<ImportedSession> {
    const { dryRun = false } = this.#options
    const { name } = importer
    const bytes = largeSize(source)
    const late = bytes === undefined || (await this.#ledger.knowsSize(bytes)) ? undefined : new DigestedWhileRead(source, name)
    const early = late === undefined ? await digestOfSource(source, name) : undefined
    const before = early === undefined ? undefined : await this.#ledger.sessionsOf(early.digest)
    if (before !== undefined) {
      yield* before.map((session) => unchanged(session, source))
      return
    }
    if (source.orphan === true && !(await isWhole(importer, source))) {
      yield left(source, name, 'It was left by a save that was interrupted, and is not whole: it is not used.')
      return
    }
    const reports: ImportedSession[] = []
    const damage: DamageItem[] = []
    this.#children.clear()
    for await (const report of this.#write(late?.source ?? source, importer, damage)) {
      reports.push(report)
      yield report
    }
    if (dryRun || this.#options.signal?.aborted === true) return
    await this.#ledger.quarantine(source, damage)
    const digested = early ?? (await (late as DigestedWhileRead).digested())
    await this.#ledger.add(digested, source, name, reports, this.#children)
  }

  async *#write(source: Source, importer: Importer, damage: DamageItem[]): AsyncGenerator<ImportedSession> {
    const sessions = new Map<string, SessionImport>()
    const nobodys = new ReportDraft()
    let [kept, read] = [0, 0]
    for await (const bunch of this.#read(source, importer)) {
      if (this.#options.signal?.aborted === true) break
      for (const item of bunch) {
        if (item.kind === 'messages') read += item.ids.length
        else if (item.kind === 'damage') {
          kept += item.bytes.length
          if (kept <= KEPT_DAMAGE_BYTES) damage.push(item)
        }
        if (item.kind === 'session') for (const child of item.children ?? []) this.#children.set(child, item.session)
        if (item.kind === 'session' && !sessions.has(item.session)) sessions.set(item.session, await this.#begin(item, source, importer))
        const session = item.session === null ? undefined : sessions.get(item.session)
        if (session !== undefined) await session.take(item)
        else if (item.kind === 'damage') nobodys.addDamage(item.place, item.reason)
        // A child is begun when its first message comes, and its parent has to be there by then.
        if (item.kind === 'session' && item.parent !== undefined) await sessions.get(item.parent.session)?.open()
      }
      this.#options.onProgress?.({ source: source.name, done: 0, total: 0, messages: this.messages + read })
    }
    for (const { path, fault } of source.files) {
      const why = fault?.()
      if (why === undefined) continue
      const [only, ...others] = sessions.values()
      const report = only === undefined || others.length > 0 ? nobodys : only.report
      report.addFault({ file: path, line: null, offset: 0, length: 0 }, `It could be decompressed only in part: ${why}.`)
    }
    for (const session of sessions.values()) {
      const report = await session.finish()
      if (source.orphan === true && report.messages > 0) session.report.healed.push('A save that was interrupted had left a newer version.')
      yield session.report.finished(report.source, report.format, report.session)
    }
    if (nobodys.damaged > 0 || sessions.size === 0) yield nobodys.finished(source.name, importer.name, null)
  }

  #read(source: Source, importer: Importer): AsyncGenerator<Ready[]> {
    return this.#thread !== undefined && IMPORTERS.includes(importer) ? this.#thread.read(importer.name, source) : readied(importer, source)
  }

  async #begin(item: SessionItem, source: Source, importer: Importer): Promise<SessionImport> {
    const related = item.parent ?? (await this.#relationOf(item.session))
    const begin = related === undefined ? item : { ...item, parent: related }
    const { dryRun = false } = this.#options
    const options = { parts: this.#parts, ledger: this.#ledger, source: source.name, format: importer.name, dryRun, called: this.#called }
    return new SessionImport(begin, options)
  }

  /** What a parent told, in this import or in an earlier one. */
  async #relationOf(session: string): Promise<SessionItem['parent']> {
    const parent = this.#parentOf.get(session) ?? (await this.#ledger.parentOf(session))
    return parent === undefined ? undefined : { session: parent, kind: 'fork' }
  }
}

async function isWhole(importer: Importer, source: Source): Promise<boolean> {
  for await (const { kind } of itemsIn(importer, source)) if (kind === 'damage') return false
  return true
}

/** A source of which nothing was imported. */
export function left(source: Source, format: string | null, note: string): ImportedSession {
  const draft = new ReportDraft()
  draft.note = note
  return draft.finished(source.name, format, null)
}

/** One source that cannot be read holds up no other. Whatever else goes wrong ends the import. */
function unreadable(source: Source, error: unknown): ImportedSession {
  if (!(error instanceof HoldfastError) || error.code !== 'UNREADABLE' || error.details.source === undefined) throw error
  return { ...left(source, null, error.message), unreadable: true }
}

function unchanged(session: ImportedSession, source: Source): ImportedSession {
  const skipped = session.messages + session.skipped
  return { ...session, source: source.name, messages: 0, skipped, note: session.note ?? 'It is unchanged since it was imported.' }
}
