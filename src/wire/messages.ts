/** Messages, pages of them and changes as they are in JSON, over HTTP and with `--json`; and back. */
import { viewOf } from '../message/message.ts'
import type { JournalRecord, Json, JsonObject } from '../record/record.ts'
import type { Appended } from '../store/messages/append.ts'
import type { Change } from '../store/messages/follow.ts'
import type { RecordPage } from '../store/messages/record-page.ts'
import type { KeptMessage } from '../store/messages/stored-message.ts'
import type { MessageRecord, Page } from '../store/messages/transcript.ts'
import {
  as,
  count,
  type Describes,
  described,
  flag,
  jsonObject,
  list,
  mapped,
  nullable,
  object,
  objectOf,
  optional,
  sent,
  text,
  time,
  type WireOf,
} from './codec.ts'
import { placeCodec, placesCodec } from './damage.ts'
import { archiveIdCodec } from './names.ts'

const shown = {
  id: text,
  at: time,
  archived: sent(flag),
  archive: as('archive_id', nullable(archiveIdCodec)),
  message: jsonObject,
}

/** Without its location in the session. */
export const messageCodec = mapped(
  object(shown),
  (message: Pick<KeptMessage, 'id' | 'at' | 'archive' | 'message'>) => ({ ...message, archived: message.archive !== null }),
  (message) => message,
)

export const storedMessageCodec = mapped(
  object({ ...shown, depth: count, replaced: flag, erased: flag, damage: optional(placesCodec) }, { name: 'StoredMessage' }),
  (stored: KeptMessage) => ({ ...stored, archived: stored.archive !== null, erased: stored.erased === true }),
  ({ erased, ...stored }): KeptMessage => ({ ...stored, ...(erased ? { erased } : {}) }),
)

const pageFields = { messages: list(storedMessageCodec), more: flag }

/** What a page lacks is reported beside it, as in every answer. */
export const pageCodec = object(pageFields, { name: 'Page' }) satisfies Describes<Omit<Page<JsonObject>, 'damage'>>

/** What the holder of a share's token sees. */
export const sharedSessionCodec = object(
  { title: nullable(text), grantedAt: time, expiresAt: nullable(time), messageCount: count, ...pageFields },
  { name: 'SharedSession' },
)

export const messageRecordCodec = object(
  { session: as('session_id', text), position: count, record: objectOf<JournalRecord>() },
  { name: 'MessageRecord' },
) satisfies Describes<MessageRecord>

/** What cannot be read between them is reported beside the page, as in every answer. */
export const recordPageCodec = object(
  { records: list(object({ position: count, record: objectOf<JournalRecord>() })), before: nullable(count) },
  { name: 'RecordPage' },
) satisfies Describes<Omit<RecordPage, 'damage'>>

const appended = {
  session: sent(as('session_id', text)),
  messageCount: count,
  pendingTokens: count,
  id: as('message_id', text),
  version: text,
  duplicate: flag,
}

interface OfSession {
  readonly session: string
}

/** One message that was appended. */
export const appendedCodec = mapped(
  object(appended, { name: 'Appended' }),
  (one: Omit<Appended, 'ids'> & OfSession) => one,
  (one): Appended => ({ ...one, ids: [one.id] }),
) satisfies Describes<Appended, OfSession>

export const batchCodec = mapped(
  object({ ...appended, added: sent(count), ids: as('message_ids', list(text)) }, { name: 'AppendedBatch' }),
  (batch: Appended & OfSession) => ({ ...batch, added: batch.duplicate ? 0 : batch.ids.length }),
  (batch): Appended => batch,
)

/**
 * A message in the shape that OpenViking's clients read: with an id, a time and parts, also if its writer sent none. The writer's own
 * fields stay.
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

/** A change of a session, as the data of an event, whose id is the cursor. The digest of a share's token stays in this process. */
export const changeCodec = mapped(
  object(
    {
      session: sent(as('session_id', text)),
      type: text,
      at: text,
      version: text,
      messages: list(object({ id: text, message: jsonObject })),
      record: described(objectOf<JsonObject>(), 'without its messages'),
    },
    { name: 'Change' },
  ),
  ({ record: { messages: _, token: __, ...record }, ...change }: Omit<Change<JsonObject>, 'cursor' | 'damage'> & OfSession) => ({
    ...change,
    record: record as JsonObject,
  }),
  ({ record, ...change }): Omit<Change<JsonObject>, 'cursor'> => ({
    ...change,
    // The record of a damaged place says the same as the place.
    damage: change.type === 'damage' ? [placeCodec.decode(record as WireOf<typeof placeCodec>)] : [],
    record: (change.type === 'messages.appended'
      ? { ...record, messages: change.messages.map(({ message }) => message) }
      : record) as unknown as JournalRecord,
  }),
)
