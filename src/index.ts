/** Holdfast: sessions for AI agents that cannot be lost, doubled or corrupted. */

export type { CatalogStatus } from './catalog/requests.ts'
export type { BreakerStatus } from './commit/breaker.ts'
export type { DraftMemory, Model, PromptMessage, SummaryAnswer, SummaryRequest } from './commit/model.ts'
export { InputTooLong, ModelUnavailable } from './commit/model.ts'
export { extractive } from './commit/models/extractive.ts'
export { type OpenAiOptions, openAi } from './commit/models/openai.ts'
export { type Attempt, Worker, type WorkerOptions, type WorkerStatus } from './commit/worker.ts'
export { type DoctorOptions, type DoctorProgress, doctor } from './doctor/doctor.ts'
export { type MasterKey, newMasterKey } from './encryption/master-key.ts'
export type { DocumentKind, Lag, ListOrder, SessionStatus, StatsRow } from './engine/catalog.ts'
export type { Clock } from './engine/clock.ts'
export type { Ids } from './engine/ids.ts'
export type { Engine } from './engine/port.ts'
export { type BackedUp, type BackupOptions, backUp, restoreBackup } from './engines/files/backup.ts'
export type { ReplacedSession } from './engines/files/backup-replacement.ts'
export type { PostgresPlace } from './engines/postgres/place.ts'
export { type ErrorCode, HoldfastError, type HoldfastErrorOptions, type Outcome } from './errors.ts'
export { type BytesLimits, bytesSource, bytesSources } from './formats/bytes.ts'
export type {
  ArchiveItem,
  ArchiveOutcome,
  DamageItem,
  DescribeItem,
  EntryItem,
  ForkItem,
  HeadItem,
  HealedItem,
  Importer,
  Item,
  MessageItem,
  ParentItem,
  ReplacementItem,
  SessionItem,
  ShareItem,
  SnapshotItem,
  Source,
  SourceFile,
  SourcePlace,
  UsageItem,
} from './formats/item.ts'
export { FORMATS, type Format } from './message/formats.ts'
export type { NoticedGap } from './record/damage.ts'
export { CALLER_LIMITS as LIMITS, type Limits } from './record/limits.ts'
export type { Address, JournalRecord, Json, JsonObject } from './record/record.ts'
export type { RevertTarget } from './session/decide.ts'
export type { SessionInfo } from './session/info.ts'
export type { Description, Entry, ExtractedMemory, ModelCall } from './session/records.ts'
export type { AcceptedGap, Parent, TaskStatus, Usage } from './session/state.ts'
export type { DamageAccepted } from './store/damage/accept-damage.ts'
export type { DamagedPlace, DamageReason, DamageReport } from './store/damage/damage.ts'
export type { FoundStatus } from './store/damage/journal-facts.ts'
export type { SearchScope } from './store/damage/search-damage.ts'
export type { TreeNode } from './store/family.ts'
export type { WriteOptions, Written } from './store/handle.ts'
export type { EraseMessageOptions } from './store/lifecycle/erase.ts'
export type { ErasedSession, EraseOptions } from './store/lifecycle/erase-owner.ts'
export type { Expired, ExpireOptions } from './store/lifecycle/expire.ts'
export type { Purged, PurgeOptions } from './store/lifecycle/purge.ts'
export type { KeepOptions } from './store/lifecycle/retention.ts'
export type { RetentionPolicy } from './store/lifecycle/retention-policy.ts'
export type { ListOptions, ListPage } from './store/list.ts'
export type { MemoriesOptions, Memory } from './store/memories.ts'
export type { About, BeforeAppend } from './store/messages/before-append.ts'
export type { StoredEntry } from './store/messages/entries.ts'
export type { Change, FollowOptions } from './store/messages/follow.ts'
export type { RecordPage, RecordPageOptions } from './store/messages/record-page.ts'
export type { StoredMessage } from './store/messages/stored-message.ts'
export type { MessageRecord, Page, PageOptions } from './store/messages/transcript.ts'
export type { LastTurn, Window, WindowOptions } from './store/messages/window.ts'
export { type EncryptionOptions, type OpenOptions, openStore } from './store/open-store.ts'
export type { Quota, QuotaRefused, QuotaUsage } from './store/quotas/quota-port.ts'
export type { SearchHit, SearchOptions, SearchResult } from './store/search.ts'
export type { Appended, AppendOptions, DescribeOptions, ForkOptions, Session } from './store/session.ts'
export type { Shared, SharedView, ShareOptions } from './store/sharing/shares.ts'
export type { Stats } from './store/stats.ts'
export type { CreateOptions, Store } from './store/store.ts'
export type { RetryOptions, TaskListOptions } from './store/task-list.ts'
export type { ArchiveInfo, CommitOptions, Committed, Task, TaskInfo, WholeArchive } from './store/tasks.ts'
export { type Copied, copyStore } from './transfer/copy.ts'
export { type ExportFormat, type ExportOptions, exportFrom } from './transfer/export/export.ts'
export { importInto } from './transfer/import/import.ts'
export type { ImportedSession, ImportOptions, ImportProgress } from './transfer/import/report.ts'
export { type RestoredSession, type RestoreSessionOptions, restoreSession } from './transfer/restore-session.ts'
export { sourcesAt } from './transfer/sources.ts'
export type { Finding, FindingKind, Severity } from './verify/findings.ts'
export type { LeftOut, Recalled } from './window/assemble.ts'
export type { Turn } from './window/turns.ts'
export type { Dropped } from './window/units.ts'
