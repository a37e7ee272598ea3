/** What an import tells, by the names that its fields have outside. */
import type { ImportedSession } from '../transfer/import/report.ts'
import { as, count, type Describes, exactly, list, nullable, object, optional, text, type WireOf } from './codec.ts'

export const importedCodec = object(
  {
    source: text,
    session: as('session_id', nullable(text)),
    messages: count,
    recovered: count,
    damaged: count,
    skipped: count,
    healed: list(text),
    suspects: list(object({ first: text, second: text })),
    format: nullable(text),
    damage: list(object({ file: text, line: nullable(count), offset: count, length: count, reason: text })),
    note: nullable(text),
    unreadable: optional(exactly(true)),
  },
  { name: 'Imported' },
) satisfies Describes<ImportedSession>

/** The report of an import, as far as a client reads it. */
export const importReportCodec = object({ sessions: list(importedCodec) })

export type ImportedFields = WireOf<typeof importedCodec>

export const importTotalsCodec = object(
  {
    sources: count,
    sessions: count,
    messages: count,
    recovered: count,
    damaged: count,
    skipped: count,
    healed: count,
    suspects: count,
    unreadable: count,
  },
  { name: 'ImportTotals' },
)

/** The sums of an import. */
export class ImportTotals {
  /** Sources of no format that is known. */
  unknown = 0
  /** Sources of which nothing can be read. */
  unreadable = 0
  readonly #sources = new Set<string>()
  readonly #sessions = new Set<string>()
  readonly #sums = { messages: 0, recovered: 0, damaged: 0, skipped: 0, healed: 0, suspects: 0 }

  add({ source, session, messages, recovered, damaged, skipped, healed, suspects, format, unreadable }: ImportedSession): void {
    this.#sources.add(source)
    if (session !== null) this.#sessions.add(session)
    if (unreadable === true) this.unreadable++
    else if (format === null) this.unknown++
    this.#sums.messages += messages
    this.#sums.recovered += recovered
    this.#sums.damaged += damaged
    this.#sums.skipped += skipped
    this.#sums.healed += healed.length
    this.#sums.suspects += suspects.length
  }

  get fields(): WireOf<typeof importTotalsCodec> {
    return { sources: this.#sources.size, sessions: this.#sessions.size, ...this.#sums, unreadable: this.unreadable }
  }
}
