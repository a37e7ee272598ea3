/** What the parts of importing one session share: where it comes from, the store that it goes into, and the report on it. */
import { HoldfastError } from '../../errors.ts'
import type { SessionItem } from '../../formats/item.ts'
import { digest } from '../../formats/values.ts'
import type { StoreParts } from '../../store/parts.ts'
import type { ImportTimes } from './import-times.ts'
import type { Ledger } from './ledger.ts'
import type { ReportDraft } from './report.ts'

export interface SessionImportOptions {
  readonly parts: StoreParts
  readonly ledger: Ledger
  readonly source: string
  readonly format: string
  readonly dryRun: boolean
  /** The sessions of this run, by the id in their source: the id here, and in a dry run the ids of the messages. */
  readonly called: Map<string, { readonly id: string; readonly messages: ReadonlySet<string> }>
}

export interface ImportScope extends SessionImportOptions {
  /** The item that begins the session. */
  readonly begin: SessionItem
  readonly report: ReportDraft
  readonly times: ImportTimes
}

/** Whether the source is an export of Holdfast: then everything happens in the order and at the time that it says. */
export function isExport({ format }: ImportScope): boolean {
  return format === 'holdfast'
}

/** The key under which an import creates a session: later imports tell by it that the session is theirs. */
export function creationKey({ format }: ImportScope, session: string): string {
  return `import:${format}:${digest(session)}`
}

/** Reports that the store cannot take something. Any other error ends the import. */
export function reportRefusal(scope: ImportScope, error: unknown, what: string): void {
  const refused = ['INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE', 'CONFLICT', 'NOT_FOUND', 'DAMAGED']
  if (!(error instanceof HoldfastError) || !refused.includes(error.code)) throw error
  reportLost(scope, `${what} cannot be kept: ${error.message}`)
}

/** Reports something that is not imported, wherever in the source it was. */
export function reportLost({ report, source }: ImportScope, reason: string): void {
  report.addDamage({ file: source, line: null, offset: 0, length: 0 }, reason)
}
