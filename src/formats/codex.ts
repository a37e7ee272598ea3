/**
 * Codex: one rollout file for each thread. What was said stands in two logs: the items that went to and came from the model, which are read,
 * and the events for display, which are used only where the other has a gap. A fork repeats its parent's items, or says up to which
 * ordinal it shares them; a thread that was reverted has another file, with the same thread and another end.
 */
import type { JsonObject } from '../record/record.ts'
import { fieldsIn } from './canonical.ts'
import type { Importer, Item, MessageItem, ParentItem, Source } from './item.ts'
import type { Raw } from './lines.ts'
import { damageOf, digested, firstObjects, headOf, type LineReader, rawEntry, readThrough, without } from './raw.ts'
import { asId, asMetadata, asObject, asString, asTime, ContentIds, contentText, stemOf } from './values.ts'

const NAME = 'codex'
const LINES = new Set([
  'session_meta',
  'response_item',
  'event_msg',
  'turn_context',
  'compacted',
  'world_state',
  'inter_agent_communication',
])
/** So many items are looked through for what an event says. */
const REMEMBERED = 1000
/** What a line says around an item in any case. */
const AROUND = ['payload', 'type', 'timestamp']
/** Types of items that are no messages. */
const UNSAID = /^(?:compaction|ghost_snapshot)/

export const codex: Importer = {
  name: NAME,
  recognises: (source, heads) => firstObjects(headOf(source, heads)).some(isRecord),
  read,
}

function isRecord(line: JsonObject): boolean {
  return typeof line.type === 'string' && LINES.has(line.type) && asObject(line.payload) !== undefined
}

function read(source: Source): AsyncIterable<Item[]> {
  // Other types may come; inside a fragment, a payload is whole too, but has no payload.
  const isLine = (line: JsonObject): boolean => typeof line.type === 'string' && asObject(line.payload) !== undefined
  return readThrough(source, isLine, new Reader(source))
}

interface Event {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly at: string | undefined
}

class Reader implements LineReader {
  readonly items: Item[] = []
  readonly #source: Source
  readonly #ids = new ContentIds()
  readonly #damage: Item[] = []
  #session: string | undefined
  #last: string | undefined
  #hasItems = false
  /** Of the turn that is read: what items say, and what events say. */
  #said: string[] = []
  #events: Event[] = []

  constructor(source: Source) {
    this.#source = source
  }

  damage(damage: Item & { kind: 'damage' }): void {
    if (this.#session === undefined) this.#damage.push(damage)
    else this.items.push(damageOf(damage, this.#session))
  }

  line(line: JsonObject, recovered: boolean, raw?: Raw): void {
    const payload = asObject(line.payload) as JsonObject
    const at = asTime(line.timestamp)
    if (this.#session === undefined) this.#begin(line.type === 'session_meta' ? payload : {}, at)
    const session = this.#session as string
    if (line.type === 'response_item' && !UNSAID.test(String(payload.type))) {
      const item = this.#item(session, line, payload, { at, recovered }, raw)
      this.#last = item.id
      this.#hasItems = true
      const said = contentText(payload.content).trim()
      if (said !== '' && this.#said.push(said) > 2 * REMEMBERED) this.#said.splice(0, REMEMBERED)
      this.items.push(item)
    } else if (line.type === 'event_msg') this.#event(line, payload, at)
    else if (line.type === 'compacted') this.#compacted(line, payload, at)
    else this.items.push(rawEntry(NAME, session, String(line.type).slice(0, 40), line))
  }

  end(): void {
    if (this.#session === undefined && this.#damage.length > 0) this.#begin({}, undefined)
    // At the end of a file that is being written, the item of what was shown may be yet to come.
    if (!this.#hasItems) this.#fillGaps()
  }

  /** Told by its content alone: what the line says around it differs between a thread and its fork. */
  #item(session: string, line: JsonObject, payload: JsonObject, told: Pick<MessageItem, 'at' | 'recovered'>, raw?: Raw): MessageItem {
    const written = raw === undefined ? undefined : fieldsIn(line, raw)?.value('payload')
    const { text, pieces, digest: sum } = digested(written ?? { text: JSON.stringify(payload) })
    const id = this.#ids.nextOf(sum)
    const { at, recovered } = told
    if (Object.keys(line).every((name) => AROUND.includes(name)))
      return { kind: 'message', session, id, message: payload, at, after: undefined, recovered, text, digest: sum, pieces }
    const message = { ...payload, origin: without(line, ...AROUND) }
    return { kind: 'message', session, id, message, at, recovered }
  }

  #begin(meta: JsonObject, at: string | undefined): void {
    const stem = stemOf(this.#source.name)
    const [, thread, rollout] = /([0-9a-f]{8}-[0-9a-f-]{27})(?:_([0-9a-f-]{36}))?$/i.exec(stem) ?? []
    this.#session = asId(meta.id) ?? thread ?? asId(stem) ?? 'session'
    const workspace = asString(meta.cwd)?.slice(0, 1000)
    const parent = parentOf(meta)
    this.items.push({
      kind: 'session',
      session: this.#session,
      at: asTime(meta.timestamp) ?? at,
      ...(parent === undefined ? {} : { parent }),
      ...(rollout === undefined ? {} : { exact: true }),
      description: {
        ...(workspace === undefined ? {} : { workspace }),
        metadata: asMetadata({
          source: NAME,
          originator: meta.originator,
          cli_version: meta.cli_version,
          model_provider: meta.model_provider,
          git: meta.git,
        }),
      },
    })
    for (const item of this.#damage.splice(0)) this.items.push(damageOf(item as Item & { kind: 'damage' }, this.#session))
  }

  #event(line: JsonObject, payload: JsonObject, at: string | undefined): void {
    const text = asString(payload.message)?.trim()
    if ((payload.type === 'user_message' || payload.type === 'agent_message') && text !== undefined) {
      if (payload.type === 'user_message' && this.#events.length > 0) this.#fillGaps()
      this.#events.push({ role: payload.type === 'user_message' ? 'user' : 'assistant', text, at })
    } else {
      if (payload.type === 'task_complete') this.#fillGaps()
      this.items.push(rawEntry(NAME, this.#session as string, `event-${String(payload.type).slice(0, 40)}`, line))
    }
  }

  /**
   * What was shown in the turn that ends here and stands in no item. An item answers for one event; those behind the last that did may belong to
   * the next turn, whose event comes later.
   */
  #fillGaps(): void {
    const session = this.#session as string
    let last = -1
    const missing = this.#events.filter(({ text }) => {
      const place = this.#said.findIndex((said) => said === text || said.includes(text))
      if (place === -1) return true
      this.#said[place] = ''
      last = Math.max(last, place)
      return false
    })
    for (const { role, text, at } of missing) {
      const message = { role, content: text, origin: { log: 'event_msg' } }
      const id = this.#ids.next(message)
      this.#last = id
      this.items.push({ kind: 'message', session, id, message, at, recovered: true })
    }
    if (missing.length > 0)
      this.items.push({
        kind: 'healed',
        session,
        what: `${missing.length} messages stood in the log of events only, and were taken from there.`,
      })
    this.#events = []
    this.#said = this.#said.slice(last + 1)
  }

  #compacted(line: JsonObject, payload: JsonObject, at: string | undefined): void {
    const session = this.#session as string
    const overview = asString(payload.message)
    if (overview !== undefined && this.#last !== undefined) {
      const outcome = { status: 'completed', overview, abstract: overview.split('\n')[0] ?? '' } as const
      this.items.push({ kind: 'archive', session, key: `compacted-${this.#last}`, upTo: this.#last, at, outcome })
    }
    this.items.push(rawEntry(NAME, session, 'compacted', line))
  }
}

function parentOf(meta: JsonObject): ParentItem | undefined {
  const base = asObject(meta.history_base)
  const forked = asId(base?.thread_id) ?? asId(meta.forked_from_id)
  if (forked !== undefined) {
    const before = base?.end_ordinal_exclusive
    return { session: forked, kind: 'fork', ...(typeof before === 'number' ? { before } : {}) }
  }
  const parent = asId(meta.parent_thread_id)
  return parent === undefined ? undefined : { session: parent, kind: 'child' }
}
