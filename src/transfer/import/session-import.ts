/**
 * One session of a source on its way into the store. The first items wait: by their messages, the session of the store is recognised. After
 * that, each item is written as it comes.
 */
import type { SessionItem } from '../../formats/item.ts'
import type { Ready } from '../../formats/ready.ts'
import { DryRun } from './dry-run.ts'
import { type ImportScope, reportLost, type SessionImportOptions } from './import-scope.ts'
import { firstTime, ImportTimes } from './import-times.ts'
import { type ImportedSession, ReportDraft } from './report.ts'
import { type ItemSink, type SessionContent, SessionWriter } from './session-writer.ts'
import { openTarget, type Target } from './target.ts'

/** How many messages and other items wait at most. */
const MOST_WAITING = 512

/** A session that is known, and where its items go. */
interface OpenedSession {
  /** Its id here. */
  readonly id: string
  readonly sink: ItemSink
}

export class SessionImport {
  readonly report = new ReportDraft()
  readonly #scope: ImportScope
  readonly #waiting: SessionContent[] = []
  #opened: OpenedSession | undefined

  constructor(begin: SessionItem, options: SessionImportOptions) {
    this.#scope = { ...options, begin, report: this.report, times: new ImportTimes() }
  }

  async take(item: Ready): Promise<void> {
    switch (item.kind) {
      case 'session':
        return
      case 'damage':
        return this.report.addDamage(item.place, item.reason)
      case 'healed':
        this.report.healed.push(item.what)
        return
      case 'suspect':
        return this.report.addSuspect(item.first, item.second)
      case 'refused':
        if (item.recovered) this.report.recovered++
        return reportLost(this.#scope, item.reason)
      default:
        return this.#write(item)
    }
  }

  async finish(): Promise<ImportedSession> {
    const { id, sink } = await this.open()
    await sink.flush()
    return this.report.finished(this.#scope.source, this.#scope.format, id)
  }

  /** Finds or creates the session, and writes the items that waited for it. */
  async open(): Promise<OpenedSession> {
    if (this.#opened !== undefined) return this.#opened
    const { begin, called, times } = this.#scope
    times.at(begin.at ?? firstTime(this.#waiting))
    const target = await openTarget(this.#scope, messageIdsOf(this.#waiting))
    const { id } = target.handle
    const counted = new Set<string>()
    this.#opened = { id, sink: this.#sinkFor(target, counted) }
    called.set(begin.session, { id, messages: counted })
    for (const item of this.#waiting.splice(0)) await this.#opened.sink.write(item)
    return this.#opened
  }

  async #write(item: SessionContent): Promise<void> {
    if (this.#opened !== undefined) return this.#opened.sink.write(item)
    this.#waiting.push(item)
    if (countOf(this.#waiting) >= MOST_WAITING) await this.open()
  }

  #sinkFor(target: Target, counted: Set<string>): ItemSink {
    if (target.accepts === 'nothing') {
      this.report.note = 'It was deleted here, and is not brought back. Restore it, and import again.'
      return NOWHERE
    }
    return this.#scope.dryRun ? new DryRun(this.#scope, target, counted) : new SessionWriter(this.#scope, target)
  }
}

const NOWHERE: ItemSink = { write: async () => undefined, flush: async () => undefined }

function countOf(items: readonly SessionContent[]): number {
  return items.reduce((sum, item) => sum + (item.kind === 'messages' ? item.ids.length : 1), 0)
}

function messageIdsOf(items: readonly SessionContent[]): string[] {
  return items.flatMap((item) => (item.kind === 'messages' ? item.ids : []))
}
