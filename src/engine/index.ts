/** What the author of an engine implements, and the rules of the lines that it moves. `holdfast/conformance` tells whether it was done right. */
export { type Counted, JournalFold, type Seal, type Verdict } from '../record/fold.ts'
export { hashKey, type KeyEntry, type KeyHash, type KeysOf } from '../record/keys.ts'
export { encodeBody, encodeCheckpoint, Group, LEAD_IN, type Line, splitLines } from '../record/line.ts'
export type { Address, Draft, JournalRecord, Json, JsonObject, RecordType, SealReason } from '../record/record.ts'
export { type Clock, systemClock } from './clock.ts'
export { type Ids, systemIds } from './ids.ts'
export type { Appended, AppendOptions, Changes, Chunk, Engine, Journal, Oddity, Place, Supports } from './port.ts'
