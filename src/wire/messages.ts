/** Messages as they stand in JSON, over HTTP and with `--json`; and back. */
import { viewOf } from '../message/message.ts'
import type { Json, JsonObject } from '../record/record.ts'
import type { Change } from '../store/messages/follow.ts'
import type { StoredMessage } from '../store/messages/stored-message.ts'
import type { Page } from '../store/messages/transcript.ts'
import type { Appended } from '../store/session.ts'
import { archiveName, archiveNumber } from './names.ts'

type Kept = Pick<StoredMessage, 'id' | 'at' | 'archive' | 'message'>

export function messageFields({ id, at, archive, message }: Kept) {
  return { id, at, archived: archive !== null, archive_id: archive === null ? null : archiveName(archive), message }
}

export type StoredFields = ReturnType<typeof storedFields>

/** With its place in the session. */
export function storedFields(stored: StoredMessage) {
  return { ...messageFields(stored), depth: stored.depth, replaced: stored.replaced, erased: stored.erased === true }
}

export function storedMessage({ id, at, archive_id, depth, replaced, erased, message }: StoredFields): StoredMessage {
  const archive = archive_id === null ? null : (archiveNumber(archive_id) ?? null)
  return { id, at, depth, archive, replaced, ...(erased ? { erased } : {}), message }
}

export type PageFields = ReturnType<typeof pageFields>

export function pageFields({ messages, more }: Page) {
  return { messages: messages.map(storedFields), more }
}

export type AppendedFields = ReturnType<typeof appendedFields>

export function appendedFields(session: string, { id, version, duplicate, messageCount, pendingTokens }: Appended) {
  return {
    session_id: session,
    message_count: messageCount,
    pending_tokens: pendingTokens,
    message_id: id,
    version,
    duplicate,
  }
}

export type BatchFields = ReturnType<typeof batchFields>

export function batchFields(session: string, appended: Appended) {
  const { ids, duplicate } = appended
  return { ...appendedFields(session, appended), added: duplicate ? 0 : ids.length, message_ids: ids }
}

/**
 * A message in the shape that OpenViking's clients read: with an id, a time and parts, whatever its writer sent. What the writer sent
 * stays beside them.
 */
export function clientMessage(message: JsonObject, origin: { readonly id: string; readonly at: string } | null): JsonObject {
  const { id, created_at, parts } = message
  return {
    ...message,
    id: typeof id === 'string' ? id : (origin?.id ?? null),
    parts: Array.isArray(parts) ? parts : partsOf(message),
    created_at: typeof created_at === 'string' ? created_at : (origin?.at ?? null),
  }
}

function partsOf(message: JsonObject): Json {
  const { content } = message
  if (Array.isArray(content)) return content
  return [{ type: 'text', text: typeof content === 'string' ? content : viewOf(message).text }]
}

export type ChangeFields = ReturnType<typeof changeFields>

/** What happened to a session, as the data of an event; its cursor is the id of the event. A token's digest stays here. */
export function changeFields(session: string, { type, at, version, messages, record }: Change) {
  const { messages: _, token: __, ...rest } = record
  return { session_id: session, type, at, version, messages, record: rest }
}

export function changeOf(cursor: string, { type, at, version, messages, record }: ChangeFields): Change {
  const whole = type === 'messages.appended' ? { ...record, messages: messages.map(({ message }) => message) } : record
  return { cursor, type, at, version, messages, damage: type === 'damage' ? [placeIn(record)] : [], record: whole as Change['record'] }
}

/** The record of a damaged place says the same as the place. */
function placeIn({ position, count, reason }: ChangeFields['record']): Change['damage'][number] {
  return { position, count, reason } as unknown as Change['damage'][number]
}
