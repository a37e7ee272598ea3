/**
 * PraisonAI: one document for each session. Messages have no ids and forks have copies of them, so ids are made from what was said and when:
 * the copies have the same, and a fork is told by the messages that it has in common with its parent.
 */
import type { JsonObject } from '../record/record.ts'
import type { Importer, Item, ParentItem, Source } from './item.ts'
import { damageOf, headOf, rawEntry, readOne, without } from './raw.ts'
import {
  asArray,
  asCount,
  asId,
  asMetadata,
  asObject,
  asObjects,
  asString,
  asTime,
  asTitle,
  ContentIds,
  contentText,
  stemOf,
} from './values.ts'

const NAME = 'praisonai'
const ARRAYS = ['messages', 'archived_messages']

export const praisonAi: Importer = {
  name: NAME,
  relates: true,
  recognises: (source, heads) => {
    const head = headOf(source, heads)
    return (
      head !== undefined && /^\s*\{/.test(head) && /"session_id"\s*:/.test(head) && /"(?:messages|spilled_at|created_at)"\s*:/.test(head)
    )
  },
  read,
}

async function* read(source: Source): AsyncGenerator<Item> {
  const { value, damage, recovered } = await readOne(source, ARRAYS, (one) => typeof one.role === 'string')
  const document = asObject(value as JsonObject | undefined) ?? {}
  const session = asId(document.session_id) ?? asId(stemOf(source.name)) ?? 'session'
  const title = asTitle(document.title)
  const parent = parentOf(document)
  yield {
    kind: 'session',
    session,
    at: asTime(document.created_at),
    ...(parent === undefined ? {} : { parent }),
    children: asArray(document.children_ids).flatMap((id) => asId(id) ?? []),
    description: {
      ...(title === undefined ? {} : { title }),
      ...(asString(document.user_id) === undefined ? {} : { owner: (document.user_id as string).slice(0, 200) }),
      metadata: asMetadata({
        source: NAME,
        agent_name: document.agent_name,
        agent_id: document.agent_id,
        gateway_session_id: document.gateway_session_id,
        is_shared: document.is_shared === true ? true : undefined,
      }),
    },
  }
  for (const one of damage) yield damageOf(one, session)
  const ids = new ContentIds()
  const archived = asObjects(document.archived_messages)
  for (const message of archived) yield messageItem(session, message, ids, recovered)
  const live: string[] = []
  const compacted: JsonObject[] = []
  const rest: Item[] = []
  for (const message of asObjects(document.messages)) {
    // It stands for the archived messages; without them it is all that is left of them.
    if (archived.length > 0 && asObject(message.metadata)?.compaction !== undefined) {
      compacted.push(message)
      continue
    }
    const item = messageItem(session, message, ids, recovered)
    live.push(item.id)
    rest.push(item)
  }
  if (archived.length > 0) yield* archiveItems(session, document, archived.length, compacted)
  yield* rest
  yield* snapshotItems(session, document, live)
  yield rawEntry(NAME, session, 'document', without(document, ...ARRAYS))
}

function parentOf(document: JsonObject): ParentItem | undefined {
  const session = asId(document.parent_id)
  if (session === undefined) return undefined
  const at = document.forked_from_message_id
  return { session, kind: at === undefined || at === null || at === '' ? 'child' : 'fork' }
}

function messageItem(session: string, message: JsonObject, ids: ContentIds, recovered: boolean): Item & { kind: 'message' } {
  const { role = null, content = null, timestamp = null, tool_calls: calls = null, tool_call_id: call = null } = message
  const id = ids.next([role, content, timestamp, calls, call])
  return { kind: 'message', session, id, message, at: asTime(message.timestamp), recovered }
}

function* archiveItems(session: string, document: JsonObject, count: number, compacted: readonly JsonObject[]): Generator<Item> {
  const last = asObject(document.last_compaction)
  const overview = asString(last?.summary) ?? compacted.map(({ content }) => contentText(content)).join('\n')
  const at = asTime(last?.timestamp)
  const abstract = overview.split('\n')[0] ?? ''
  const outcome = overview === '' ? ({ status: 'pending' } as const) : ({ status: 'completed', overview, abstract } as const)
  yield { kind: 'archive', session, key: `compaction-${count}`, at, outcome }
  for (const message of compacted) yield rawEntry(NAME, session, 'compaction', message)
}

function* snapshotItems(session: string, document: JsonObject, live: readonly string[]): Generator<Item> {
  const names = new Set<string>()
  for (const snapshot of asObjects(document.snapshots)) {
    const label = asId(snapshot.label) ?? asId(snapshot.id)
    if (label === undefined) continue
    const name = names.has(label) ? `${label} (${asId(snapshot.id) ?? names.size})` : label
    names.add(name)
    // So many messages it has; what the count says beyond the end is the end.
    const message = live[Math.min(asCount(snapshot.message_index), live.length) - 1] ?? null
    yield { kind: 'snapshot', session, name, message, at: asTime(snapshot.created_at) }
  }
}
