/**
 * Holdfast: sessions for AI agents that cannot be lost, doubled or corrupted.
 *
 * Start with `openStore`. A method reads or changes the sessions of one store: `store.search()`, `session.append()`. A free function crosses the
 * border of a store: it opens one, moves data between stores, files and other programs, or verifies the bytes under the sessions. If it takes a
 * store, that is its first argument: `exportFrom(store)`, `importInto(store, sources)`, `doctor(store)`.
 *
 * @packageDocumentation
 */

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
export { type ErrorCode, type ErrorDetails, type ErrorReason, HoldfastError, type HoldfastErrorOptions, type Outcome } from './errors.ts'
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
export { FORMATS } from './message/formats.ts'
export type { Role } from './message/message.ts'
export type {
  AiSdkMessage,
  AiSdkTextPart,
  AiSdkToolCallPart,
  AiSdkToolResultPart,
  AnthropicBlock,
  AnthropicMessage,
  Format,
  FormatMessages,
  ItemMessage,
  Message,
  MessagePart,
  OpenAiMessage,
  OpenAiResponsesItem,
  OpenAiToolCall,
  OtherFields,
  PartFields,
  RoleMessage,
  TextMessage,
  WindowMessage,
} from './message/shapes.ts'
export type { NoticedGap } from './record/damage.ts'
export { CALLER_LIMITS as LIMITS, type Limits } from './record/limits.ts'
export type { Address, JournalRecord, Json, JsonObject } from './record/record.ts'
export type { RevertTarget } from './session/decide.ts'
export type { SessionInfo } from './session/info.ts'
export type { AutoCommitPolicy, MemoryPolicy, Policies, SessionRetention } from './session/policies.ts'
export type { Description, Entry, ExtractedMemory, ModelCall } from './session/records.ts'
export type { AcceptedGap, Parent, TaskStatus, Usage } from './session/state.ts'
export type { DescribeOptions, ForkOptions } from './store/api/branches-api.ts'
export type { ArchivesApi, LifecycleApi, SessionApi } from './store/api/session-api.ts'
export type { CreateOptions, QuotaScope, RetentionApi, SearchApi, StoreApi, TasksApi } from './store/api/store-api.ts'
export type { CommittedApi, TaskApi } from './store/api/task-api.ts'
export type { DamageAccepted } from './store/damage/accept-damage.ts'
export type { DamagedPlace, DamageReason, DamageReport } from './store/damage/damage.ts'
export type { FoundStatus } from './store/damage/journal-facts.ts'
export type { SearchScope } from './store/damage/search-damage.ts'
export type { WriteOptions, Written } from './store/handle.ts'
export type { EraseMessageOptions } from './store/lifecycle/erase.ts'
export type { ErasedSession, EraseOptions } from './store/lifecycle/erase-owner.ts'
export type { Expired, ExpireOptions } from './store/lifecycle/expire.ts'
export type { KeepOptions } from './store/lifecycle/keep-options.ts'
export type { Purged, PurgeOptions } from './store/lifecycle/purge.ts'
export type { RetentionPolicy } from './store/lifecycle/retention-policy.ts'
export type { ListOptions, ListPage } from './store/list.ts'
export type { MemoriesOptions, Memory } from './store/memories.ts'
export type { Appended, AppendOptions } from './store/messages/append.ts'
export type { About, BeforeAppend } from './store/messages/before-append.ts'
export type { EntryPage, EntryPageOptions, StoredEntry } from './store/messages/entries.ts'
export type { Change, FollowOptions } from './store/messages/follow.ts'
export type { RecordPage, RecordPageOptions } from './store/messages/record-page.ts'
export type { ReplaceOptions } from './store/messages/replace.ts'
export type { RevisionOptions, RevisionPage } from './store/messages/revisions.ts'
export type { StoredMessage } from './store/messages/stored-message.ts'
export type { MessageRecord, Page, PageOptions } from './store/messages/transcript.ts'
export type { LastTurn, Window, WindowOptions } from './store/messages/window.ts'
export { type EncryptionOptions, type OpenOptions, openStore } from './store/open-store.ts'
export type { Quota, QuotaRefused, QuotaUsage } from './store/quotas/quota-port.ts'
export type { SearchHit, SearchOptions, SearchResult } from './store/search.ts'
export type { Session } from './store/session.ts'
export type { Shared, SharedView, ShareOptions } from './store/sharing/shares.ts'
export type { Stats } from './store/stats.ts'
export type { Store } from './store/store.ts'
export type { ArchiveInfo, ArchivePageOptions, CommitOptions, TaskInfo, WholeArchive } from './store/task-info.ts'
export type { RetryOptions, TaskListOptions } from './store/task-list.ts'
export type { Committed, Task } from './store/tasks.ts'
export type { TreeNode, TreeOptions, TreePage } from './store/tree.ts'
export { type BytesLimits, bytesSource, bytesSources } from './transfer/bytes.ts'
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
