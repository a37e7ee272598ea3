/** What an import tells. */
import type { Importer, SourcePlace } from '../../formats/item.ts'

/** What became of one session of a source. */
export interface ImportedSession {
  readonly source: string
  readonly format: string | null
  /** Its id here; null if nothing of the source could be told to belong to one. */
  readonly session: string | null
  /** Messages that were added; with `dryRun`, that would be. */
  readonly messages: number
  /** Of all messages of the source, those that come from damaged places. */
  readonly recovered: number
  /** Places that could not be read. */
  readonly damaged: number
  /** Messages that were there already. */
  readonly skipped: number
  /** What was wrong in the source and is right here, in sentences. */
  readonly healed: readonly string[]
  /** Messages with other ids that say the same within seconds: a client may have sent them twice. Both are kept. */
  readonly suspects: readonly { readonly first: string; readonly second: string }[]
  /** Where the source could not be read, and why; a hundred at most. */
  readonly damage: readonly (SourcePlace & { readonly reason: string })[]
  /** Why nothing of it was imported, if so: it is unknown or unreadable, was deleted here, or is unchanged since the last time. */
  readonly note: string | null
  /** Nothing of the source can be read. Absent from all other reports. */
  readonly unreadable?: true
}

export interface ImportOptions {
  /** The name of the format. Defaults to the one that is recognised. */
  readonly from?: string
  /** Importers of your own, asked before the others. */
  readonly importers?: readonly Importer[]
  /** Writes nothing, and returns the same reports. Defaults to false. */
  readonly dryRun?: boolean
  /** Stops the import. What was written stays, and the next import continues. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: ImportProgress) => void
}

export interface ImportProgress {
  readonly source: string
  /** Sources that are done, of all that there are. */
  readonly done: number
  readonly total: number
  /** Messages so far. */
  readonly messages: number
}

/** A report that is being made. */
export class ReportDraft {
  messages = 0
  recovered = 0
  damaged = 0
  skipped = 0
  readonly healed: string[] = []
  readonly suspects: { first: string; second: string }[] = []
  readonly damage: (SourcePlace & { reason: string })[] = []
  note: string | null = null
  unreadable = false

  addDamage(place: SourcePlace, reason: string): void {
    this.damaged++
    if (this.damage.length < 100) this.damage.push({ ...place, reason })
  }

  /** Damage that all else follows from: told first. */
  addFault(place: SourcePlace, reason: string): void {
    this.damaged++
    this.damage.unshift({ ...place, reason })
    this.damage.splice(100)
  }

  addSuspect(first: string, second: string): void {
    if (this.suspects.length < 1000) this.suspects.push({ first, second })
  }

  finished(source: string, format: string | null, session: string | null): ImportedSession {
    const { messages, recovered, damaged, skipped, healed, suspects, damage, note } = this
    const report = { source, format, session, messages, recovered, damaged, skipped, healed, suspects, damage, note }
    return this.unreadable ? { ...report, unreadable: true } : report
  }
}
