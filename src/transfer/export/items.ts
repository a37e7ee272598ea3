/**
 * A session as items, in the order in which things happened: what its journal says, with messages named by their ids in place of addresses.
 * Carried out again, one by one, they make an equal session.
 *
 * A fork whose parent is exported too is begun where it began, as an item of the parent. One whose parent is not begins with the messages
 * that it inherited, as its own.
 */

import type { ArchiveOutcome, Item, SessionItem } from '../../formats/item.ts'
import { history } from '../../journal/history.ts'
import { type Found, Records } from '../../journal/records.ts'
import type { Address, JournalRecord, Json, JsonObject } from '../../record/record.ts'
import { PAST } from '../../session/branch.ts'
import {
  type CommitFailed,
  type CommitFinished,
  type Description,
  type EntryPut,
  type ForkGranted,
  type HeadMoved,
  type MessageReplaced,
  type MessagesAppended,
  messageId,
  type SessionCreated,
  type ShareGranted,
  type SnapshotTaken,
  type UsageRecorded,
} from '../../session/records.ts'
import type { Archive, Past, Point, SessionState, Stretch } from '../../session/state.ts'
import { Handle } from '../../store/handle.ts'
import { Transcript } from '../../store/messages/transcript.ts'
import type { SessionParts } from '../../store/parts.ts'

const DESCRIPTION = ['title', 'tags', 'owner', 'workspace', 'metadata', 'policies'] as const

export class ItemReader {
  readonly #parts: SessionParts
  readonly #handle: Handle
  /** The sessions that are exported with this one. */
  readonly #included: ReadonlySet<string>
  readonly #told = new Set<string>()
  #state!: SessionState
  #transcript!: Transcript
  #records!: Records

  constructor(parts: SessionParts, session: string, included: ReadonlySet<string>) {
    this.#parts = parts
    this.#handle = new Handle(parts, session)
    this.#included = included
  }

  async *read(): AsyncGenerator<Item[]> {
    this.#state = await this.#handle.liveState()
    this.#transcript = new Transcript(this.#parts, this.#handle.id, this.#state)
    const isForkHere = await this.#comesFromIncluded()
    const { journal, replica } = this.#handle.held
    this.#records = new Records(journal)
    const [end, { born }] = [await replica.end(), this.#state]
    yield [await this.#header(isForkHere)]
    if (!isForkHere) for (const item of await this.#inherited()) yield [item]
    for await (const { verdict } of history(journal, { from: born })) {
      if (verdict.kind !== 'counted' || verdict.at < born) continue
      if (verdict.at >= end) break
      const items = await this.#itemsOf(verdict.record)
      if (items.length > 0) yield items
    }
  }

  async #header(isForkHere: boolean): Promise<SessionItem> {
    const created = (await this.#records.eitherCopyAt(this.#state.born, 'session.created'))?.record
    const description = created === undefined ? descriptionOf(this.#state) : descriptionOf(created as unknown as Description)
    const parent = isForkHere ? await parentOf(this.#state, this.#transcript) : undefined
    const session = this.#handle.id
    return { kind: 'session', session, at: this.#state.createdAt, description, ...(parent === undefined ? {} : { parent }) }
  }

  /** Whether its parent is exported too, and has what it begins with. */
  async #comesFromIncluded(): Promise<boolean> {
    const { parent } = this.#state
    if (parent === null || !this.#included.has(parent.session)) return false
    return comesFrom(this.#state, await new Handle(this.#parts, parent.session).state())
  }

  /** What a fork begins with, if its parent is not at hand. */
  async #inherited(): Promise<Item[]> {
    const depth = this.#state.past.at(-1)?.to ?? 0
    if (depth === 0) return []
    const session = this.#handle.id
    const items: Item[] = []
    for await (const { id, at, message } of this.#transcript.oldestFirst([{ run: PAST, from: 0, to: depth, first: 0, last: 0 }])) {
      items.push({ kind: 'message', session, id, at, message })
    }
    for (const archive of this.#state.archives) if (archive.session !== null) items.push(...(await this.#archive(archive)))
    return items
  }

  async #itemsOf(record: JournalRecord): Promise<Item[]> {
    const common = { session: this.#handle.id, at: record.at }
    switch (record.type) {
      case 'messages.appended':
        return [...(await this.#messages(record)), ...usageIn(record, common), ...entriesIn(record, common)]
      case 'message.replaced': {
        const { target: id, message } = record as unknown as MessageReplaced
        return [{ kind: 'replacement', ...common, id, message: message as JsonObject }]
      }
      case 'session.described':
        return [{ kind: 'describe', ...common, description: descriptionOf(record as unknown as Description) }]
      case 'entry.put':
        return entriesIn(record, common)
      case 'snapshot.taken': {
        const { name, point } = record as unknown as SnapshotTaken
        return [{ kind: 'snapshot', ...common, name, message: await this.#idAt(point) }]
      }
      case 'head.moved': {
        const { to, why, target } = record as unknown as HeadMoved
        return [{ kind: 'head', ...common, to: await this.#idAt(to), why, ...(target === undefined ? {} : { target }) }]
      }
      case 'usage.recorded': {
        const { model, inputTokens, outputTokens } = record as unknown as UsageRecorded
        return [{ kind: 'usage', ...common, key: record.id, model, inputTokens, outputTokens }]
      }
      case 'share.granted': {
        const { share, token, expiresAt, redact } = record as unknown as ShareGranted
        const item = { kind: 'share' as const, ...common, share, digest: token, expiresAt, ...(redact === true ? { redact } : {}) }
        return this.#state.shares.some(({ id }) => id === share) ? [item] : []
      }
      case 'fork.granted':
        return this.#fork(record as unknown as ForkGranted)
      case 'commit.requested':
      case 'commit.finished': {
        const task = record.type === 'commit.requested' ? record.id : (record as unknown as CommitFinished).task
        const archive = this.#state.archives.find((one) => one.session === null && one.task === task)
        return archive === undefined ? [] : this.#archive(archive)
      }
      default:
        return []
    }
  }

  async #messages(record: JournalRecord): Promise<Item[]> {
    const { messages, ids, times, left, n } = record as unknown as MessagesAppended
    const session = this.#handle.id
    const items: Item[] = []
    for (const [index, message] of messages.entries()) {
      const at = times?.[index] ?? record.at
      items.push({ kind: 'message', session, id: messageId(record.id, ids, index), at, message: message as JsonObject })
    }
    if (left === undefined) return items
    const after = await this.#idAt({ at: record.parent ?? null, n, t: 0 })
    return [{ ...(items[0] as Item & { kind: 'message' }), after }, ...items.slice(1)]
  }

  /** A session that began here, if it is exported too and still comes from this one. */
  async #fork({ session: child, kind }: ForkGranted): Promise<Item[]> {
    if (!this.#included.has(child)) return []
    const handle = new Handle(this.#parts, child)
    const state = await handle.state()
    if (state.status !== 'live' || state.parent?.session !== this.#handle.id || !comesFrom(state, this.#state)) return []
    const created = (await new Records(handle.held.journal).eitherCopyAt(state.born, 'session.created'))?.record as unknown as
      | SessionCreated
      | undefined
    const parent = await parentOf(state, new Transcript(this.#parts, child, state))
    const description = descriptionOf(created ?? state)
    const { id: session } = this.#handle
    return [{ kind: 'fork', session, at: state.createdAt, child, message: parent?.message ?? null, as: kind, description }]
  }

  async #archive(archive: Archive): Promise<Item[]> {
    if (this.#told.has(archive.task)) return []
    this.#told.add(archive.task)
    const stretches = [...archive.covers, ...archive.takes]
    const last = stretches.reduce((a, b) => (a.to > b.to ? a : b))
    const upTo = await this.#idIn({ ...last, from: last.to - 1 })
    if (upTo === null) return []
    const { task, requestedAt: at, number } = archive
    const outcome = await this.#outcomeOf(archive)
    return [{ kind: 'archive', session: this.#handle.id, at, key: String(number), task, upTo, outcome }]
  }

  async #outcomeOf({ session, ended, status, retracted }: Archive): Promise<ArchiveOutcome> {
    const found: Found | undefined = ended === null ? undefined : await this.#transcript.recordOf(session, ended)
    const endedAt = found?.record.at
    if (status === 'completed') {
      const {
        abstract = '',
        overview = '',
        memories = [],
        owner = null,
        model = '',
        usage,
        attempts = 0,
      } = (found?.record ?? {}) as Partial<CommitFinished>
      const more = { ...(usage === undefined ? {} : { usage }), ...(retracted ? { retracted: true } : {}) }
      // Of what a fork inherited, the memories are those of the session that it came from.
      return { status, abstract, overview, memories: session === null ? memories : [], owner, model, attempts, endedAt, ...more }
    }
    if (status === 'failed') {
      const { error = { code: 'UNKNOWN', message: '' }, attempts = 0 } = (found?.record ?? {}) as Partial<CommitFailed>
      return { status, error, attempts, endedAt }
    }
    return status === 'cancelled' ? { status, endedAt } : { status: 'pending' }
  }

  /** The id of the message at a point; null in front of the first one. */
  async #idAt({ at, n }: Point): Promise<string | null> {
    if (at === null) return n === 0 ? null : this.#idIn({ run: PAST, from: n - 1, to: n, first: 0, last: 0 })
    return idIn(await this.#records.at(at[0]), at)
  }

  /** The id of the one message of a stretch. */
  async #idIn(stretch: Stretch): Promise<string | null> {
    for await (const { id } of this.#transcript.oldestFirst([stretch])) return id
    return null
  }
}

/** What calls took, as it is told behind the messages that came from them. */
function usageIn(record: JournalRecord, common: { readonly session: string; readonly at: string }): Item[] {
  const { usage = [], times } = record as Partial<MessagesAppended>
  return usage.map(({ index, model, inputTokens, outputTokens }) => {
    const at = times?.[index] ?? common.at
    return { kind: 'usage', ...common, at, key: `${record.id}.${index}`, model, inputTokens, outputTokens }
  })
}

function entriesIn(record: JournalRecord, common: { readonly session: string; readonly at: string }): Item[] {
  const { entries = [] } = record as Partial<EntryPut>
  return entries.map((entry) => ({ kind: 'entry', ...common, ...entry }))
}

function idIn(found: Found | undefined, [, index]: Address): string | null {
  if (found?.record.type !== 'messages.appended') return null
  return messageId(found.record.id, (found.record as unknown as MessagesAppended).ids, index)
}

/** Whom a session comes from, and the last message that they share. */
async function parentOf({ parent, past }: SessionState, transcript: Transcript): Promise<SessionItem['parent']> {
  if (parent === null) return undefined
  const depth = past.at(-1)?.to ?? 0
  let message: string | null = null
  if (depth > 0) {
    for await (const { id } of transcript.oldestFirst([{ run: PAST, from: depth - 1, to: depth, first: 0, last: 0 }])) message = id
  }
  return { session: parent.session, kind: parent.kind, message }
}

function descriptionOf(fields: Description): Description {
  return Object.fromEntries(DESCRIPTION.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name] as Json]])))
}

/** Whether a session begins with messages of this incarnation of its parent, which may have been deleted and created again since. */
function comesFrom({ parent, past }: SessionState, above: SessionState): boolean {
  const has = ({ session, born }: Past): boolean =>
    session === parent?.session ? born === above.born : above.past.some((piece) => piece.session === session && piece.born === born)
  return above.status === 'live' && past.every(has)
}
