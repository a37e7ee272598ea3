/** opencode: what `export` prints, one document with the session and its messages. */
import type { Json, JsonObject } from '../record/record.ts'
import type { Importer, Item, MessageItem, Source } from './item.ts'
import { damageOf, headOf, rawEntry, readOne, without } from './raw.ts'
import { asCount, asId, asMetadata, asObject, asObjects, asString, asTime, asTitle, ContentIds, callOf, stemOf } from './values.ts'

const NAME = 'opencode'

export const opencode: Importer = {
  name: NAME,
  recognises: (source, heads) => {
    const head = headOf(source, heads) ?? ''
    return (
      /^\s*\{\s*"(?:info|messages)"\s*:/.test(head) &&
      /"info"\s*:\s*\{/.test(head) &&
      /"(?:sessionID|projectID|directory|parts)"\s*:/.test(head)
    )
  },
  read,
}

async function* read(source: Source): AsyncGenerator<Item> {
  const { value, damage, recovered } = await readOne(source, ['messages'], (one) => asObject(one.info) !== undefined)
  const document = asObject(value as JsonObject | undefined) ?? {}
  const info = asObject(document.info) ?? {}
  const messages = asObjects(document.messages)
  const session = asId(info.id) ?? asId(asObject(messages[0]?.info)?.sessionID) ?? asId(stemOf(source.name)) ?? 'session'
  const [title, workspace, parent] = [asTitle(info.title), asString(info.directory), asId(info.parentID)]
  yield {
    kind: 'session',
    session,
    at: asTime(asObject(info.time)?.created),
    ...(parent === undefined ? {} : { parent: { session: parent, kind: 'child' } }),
    description: {
      ...(title === undefined ? {} : { title }),
      ...(workspace === undefined ? {} : { workspace: workspace.slice(0, 1000) }),
      metadata: asMetadata({ source: NAME, project_id: info.projectID, version: info.version, shared: asObject(info.share)?.url }),
    },
  }
  for (const one of damage) yield damageOf(one, session)
  const ids = new ContentIds()
  for (const { info: own, parts } of messages) yield* messageItems(session, asObject(own) ?? {}, asObjects(parts as Json), ids, recovered)
  yield rawEntry(NAME, session, 'info', info)
}

function* messageItems(
  session: string,
  info: JsonObject,
  parts: readonly JsonObject[],
  ids: ContentIds,
  recovered: boolean,
): Generator<Item> {
  const at = asTime(asObject(info.time)?.created)
  const message = {
    role: info.role === 'assistant' ? 'assistant' : 'user',
    parts: parts.map(partOf),
    origin: without(info, 'id', 'sessionID', 'role'),
  }
  const id = asId(info.id) ?? ids.next(message)
  yield { kind: 'message', session, id, message, at, recovered, usage: usageIn(info) }
}

function usageIn(info: JsonObject): MessageItem['usage'] {
  const [tokens, model] = [asObject(info.tokens), asString(info.modelID)]
  if (tokens === undefined) return undefined
  const cache = asObject(tokens.cache)
  const inputTokens = asCount(tokens.input) + asCount(cache?.read) + asCount(cache?.write)
  const outputTokens = asCount(tokens.output) + asCount(tokens.reasoning)
  return callOf(model, inputTokens, outputTokens)
}

/** Calls and files in the shape that is known elsewhere, with all that they had; other parts as they are. */
function partOf(part: JsonObject): JsonObject {
  if (part.type === 'file') return { ...part, mediaType: part.mime ?? null }
  if (part.type !== 'tool') return part
  const state = asObject(part.state) ?? {}
  const outcome =
    state.status === 'completed'
      ? { state: 'output-available', output: state.output ?? '' }
      : state.status === 'error'
        ? { state: 'output-error', errorText: asString(state.error) ?? 'error' }
        : { state: 'input-available' }
  const origin = { ...without(part, 'type', 'tool', 'callID', 'state'), ...without(state, 'input', 'output', 'error') }
  return {
    type: 'dynamic-tool',
    toolCallId: asString(part.callID) ?? '',
    toolName: asString(part.tool) ?? 'tool',
    input: state.input ?? {},
    ...outcome,
    origin,
  }
}
