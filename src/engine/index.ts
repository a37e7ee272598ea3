/** What the author of an engine implements, and the rules of the lines that it moves. `holdfast/conformance` tells whether it was done right. */
export { type ErrorCode, type ErrorDetails, type ErrorReason, HoldfastError, type HoldfastErrorOptions, type Outcome } from '../errors.ts'
export type { Term, TextQuery } from '../message/text-query.ts'
export type { DamageReason, NoticedGap } from '../record/damage.ts'
export { type Counted, type Damaged, JournalFold, type Seal, type Verdict } from '../record/fold.ts'
export { hashKey, type KeyEntry, type KeyHash, type KeyKind, type KeysOf } from '../record/key-hash.ts'
export {
  type Body,
  type DamageKind,
  encodeBody,
  encodeCheckpoint,
  Group,
  LEAD_IN,
  type Line,
  type LinePlace,
  splitLines,
} from '../record/line.ts'
export type { LineCipher, Open } from '../record/line-cipher.ts'
export type {
  Address,
  CheckpointDraft,
  Draft,
  JournalRecord,
  Json,
  JsonObject,
  RecordType,
  SealReason,
  TextAround,
} from '../record/record.ts'
export type { ExtractedMemory } from '../session/records.ts'
export type { Past, Stretch, TaskStatus, Usage } from '../session/state.ts'
export type {
  Catalog,
  DocumentKind,
  ExtractionRow,
  FoundDocument,
  Known,
  Lag,
  ListedRow,
  ListFilter,
  ListOrder,
  ListPosition,
  ListQuery,
  Mark,
  MessagePut,
  SearchQuery,
  SessionPut,
  SessionStatus,
  StatsRow,
  SummaryPut,
  TaskPut,
  TaskQuery,
  TaskRow,
  TextPut,
} from './catalog.ts'
export { type Clock, systemClock } from './clock.ts'
export { type Ids, systemIds } from './ids.ts'
export type { Appended, AppendOptions, Changes, Chunk, Engine, Journal, JournalPosition, Oddity, Supports, Vanished } from './port.ts'
