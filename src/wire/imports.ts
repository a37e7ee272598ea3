/** What an import tells, by the names that its fields have outside. */
import type { ImportedSession } from '../transfer/import/report.ts'

export type ImportedFields = Omit<ImportedSession, 'session'> & { readonly session_id: string | null }

export function importedFields({ session, ...rest }: ImportedSession): ImportedFields {
  const { source, format, messages, recovered, damaged, skipped, healed, suspects, damage, note } = rest
  return { source, session_id: session, messages, recovered, damaged, skipped, healed, suspects, format, damage, note }
}

export function importedOf({ session_id: session, ...rest }: ImportedFields): ImportedSession {
  return { session, ...rest }
}

/** The sums of an import. */
export class ImportTotals {
  /** Sources of no format that is known. */
  unknown = 0
  readonly #sources = new Set<string>()
  readonly #sessions = new Set<string>()
  readonly #sums = { messages: 0, recovered: 0, damaged: 0, skipped: 0, healed: 0, suspects: 0 }

  add({ source, session, messages, recovered, damaged, skipped, healed, suspects, format }: ImportedSession): void {
    this.#sources.add(source)
    if (session !== null) this.#sessions.add(session)
    if (format === null) this.unknown++
    this.#sums.messages += messages
    this.#sums.recovered += recovered
    this.#sums.damaged += damaged
    this.#sums.skipped += skipped
    this.#sums.healed += healed.length
    this.#sums.suspects += suspects.length
  }

  get fields(): ImportTotalsFields {
    return { sources: this.#sources.size, sessions: this.#sessions.size, ...this.#sums }
  }
}

export interface ImportTotalsFields {
  readonly sources: number
  readonly sessions: number
  readonly messages: number
  readonly recovered: number
  readonly damaged: number
  readonly skipped: number
  readonly healed: number
  readonly suspects: number
}
