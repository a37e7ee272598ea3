/**
 * The session store of Claude's agent SDK: a transcript is a session, and so is that of each sub-agent. A line with a uuid is a message of
 * that id, so whatever the SDK sends again is there once; a line without one (a title, a tag, a mode) is an entry beside the messages, which
 * knows behind how many of them it stood. Lines and the summary of the transcript go into one record.
 */
import {
  foldSessionSummary,
  type SessionKey,
  type SessionStore,
  type SessionStoreEntry,
  type SessionSummaryEntry,
} from '@anthropic-ai/claude-agent-sdk'
import { HoldfastError } from '../../errors.ts'
import type { Json, JsonObject } from '../../record/record.ts'
import type { SessionInfo } from '../../session/info.ts'
import type { Entry } from '../../session/records.ts'
import {
  type AdapterSession,
  type AdapterStore,
  begun,
  type DamageOptions,
  entriesIn,
  entryIn,
  hasReason,
  ifKept,
  newestMessages,
  type OnDamage,
  shortened,
} from '../sessions.ts'

export interface HoldfastSessionStoreOptions extends DamageOptions {
  /** A store that was opened, or one at a server. */
  readonly store: AdapterStore
}

const TAG = 'claude-agent'
const LINES = 'claude-agent.lines'
const SUMMARY = 'claude-agent.summary'

/** What is known of a transcript. */
interface Known {
  readonly data: JsonObject | null
  /** Lines with a uuid, and lines without. */
  readonly messages: number
  readonly lines: number
}

/** A line without a uuid, and how many messages stood before it. */
interface Line {
  readonly line: SessionStoreEntry
  readonly behind: number
}

export class HoldfastSessionStore implements SessionStore {
  readonly #store: AdapterStore
  readonly #onDamage: OnDamage | undefined
  /** Appends of one process to one transcript are kept in their order. */
  readonly #queues = new Map<string, Promise<unknown>>()

  constructor({ store, onDamage }: HoldfastSessionStoreOptions) {
    this.#onDamage = onDamage
    this.#store = store
  }

  /** On the disk when it resolves, all lines or none. */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    if (entries.length === 0) return
    const id = idOf(key)
    const done = (this.#queues.get(id) ?? Promise.resolve()).then(() => this.#append(key, entries))
    const settled = done.catch(() => undefined)
    this.#queues.set(id, settled)
    await done
    if (this.#queues.get(id) === settled) this.#queues.delete(id)
  }

  async #append(key: SessionKey, entries: readonly SessionStoreEntry[]): Promise<void> {
    const session = this.#session(key)
    // An id that comes twice in one call is one line.
    let lines = entries.filter(({ uuid }, index) => uuid === undefined || entries.findIndex((one) => one.uuid === uuid) === index)
    for (;;) {
      const { projectKey: project, sessionId, subpath = null } = key
      const expect = await begun(this.#store, session, { tags: [TAG], metadata: { project, session: sessionId, subpath } })
      const known = await knownOf(session, this.#onDamage)
      const messages = lines.filter(({ uuid }) => uuid !== undefined)
      const beside = besideOf(key, known, lines)
      try {
        if (messages.length === 0) await session.putEntries(beside, { expect })
        else await session.append(messages, { ids: messages.map(({ uuid }) => uuid), entries: beside, expect })
        return
      } catch (error) {
        if (hasReason(error, 'part of the batch') || hasReason(error, 'other body')) {
          lines = await unknownOf(session, lines)
          if (lines.length === 0) return
        } else if (!hasReason(error, 'version') && !hasReason(error, 'deleted')) throw error
      }
    }
  }

  /** Lines in the order in which they were appended; null if there are none. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const session = this.#session(key)
    const beside: Line[] = []
    const entries = entriesIn(session, LINES, this.#onDamage)
    for (;;) {
      const next = await ifKept(() => entries.next())
      if (next === undefined) return null
      if (next.done === true) break
      beside.unshift(next.value.value as unknown as Line)
    }
    const messages = await newestMessages(session, { onDamage: this.#onDamage })
    const lines = beside.filter(({ behind }) => behind === 0).map(({ line }) => line)
    const behind = new Map<number, SessionStoreEntry[]>()
    for (const { line, behind: depth } of beside) behind.set(depth, [...(behind.get(depth) ?? []), line])
    for (const { depth, message } of messages) lines.push(message as unknown as SessionStoreEntry, ...(behind.get(depth) ?? []))
    return lines.length === 0 ? null : lines
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const sessions = await this.#list({ project: projectKey, subpath: null })
    return sessions.map(({ metadata, updatedAt }) => ({ sessionId: metadata.session as string, mtime: Date.parse(updatedAt) }))
  }

  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const summaries: SessionSummaryEntry[] = []
    for (const { id, metadata } of await this.#list({ project: projectKey, subpath: null })) {
      const session = this.#store.session(id)
      const entry = await ifKept(() => entryIn(session, SUMMARY, SUMMARY, this.#onDamage))
      const data = (entry?.value as unknown as Known | undefined)?.data ?? null
      if (entry !== undefined && data !== null) {
        summaries.push({ sessionId: metadata.session as string, mtime: Date.parse(entry.at), data: { ...data } })
      }
    }
    return summaries
  }

  /** With a transcript go those of its sub-agents. All can be restored until they are purged. */
  async delete(key: SessionKey): Promise<void> {
    const { projectKey, sessionId } = key
    for (const subpath of key.subpath === undefined ? await this.listSubkeys({ projectKey, sessionId }) : []) {
      await this.delete({ projectKey, sessionId, subpath })
    }
    const session = this.#session(key)
    await ifKept(() => session.delete())
  }

  async listSubkeys({ projectKey, sessionId }: { projectKey: string; sessionId: string }): Promise<string[]> {
    const sessions = await this.#list({ project: projectKey, session: sessionId })
    return sessions.flatMap(({ metadata: { subpath } }) => (typeof subpath === 'string' ? [subpath] : []))
  }

  async #list({ subpath, ...metadata }: { project: string; session?: string; subpath?: null }): Promise<SessionInfo[]> {
    const sessions: SessionInfo[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.#store.list({ tag: TAG, metadata, order: 'created', ...(cursor === undefined ? {} : { cursor }) })
      sessions.push(...page.sessions.filter((info) => subpath === undefined || (info.metadata.subpath ?? null) === null))
      cursor = page.cursor
    }
    return sessions
  }

  #session(key: SessionKey): AdapterSession {
    return this.#store.session(idOf(key))
  }
}

function idOf({ projectKey, sessionId, subpath }: SessionKey): string {
  return shortened(['claude-agent', projectKey, sessionId, ...(subpath === undefined ? [] : [subpath])].join('/'))
}

async function knownOf(session: AdapterSession, onDamage: OnDamage | undefined): Promise<Known> {
  const entry = await entryIn(session, SUMMARY, SUMMARY, onDamage)
  return (entry?.value as unknown as Known | undefined) ?? { data: null, messages: 0, lines: 0 }
}

/** What goes into the record beside the messages: lines that are none, and the summary with all of them. */
function besideOf(key: SessionKey, known: Known, lines: readonly SessionStoreEntry[]): Entry[] {
  let { messages, lines: count } = known
  const beside: Entry[] = []
  for (const line of lines) {
    if (line.uuid !== undefined) messages++
    else beside.push({ channel: LINES, key: String(count++), value: { line, behind: messages } as unknown as Json })
  }
  const { sessionId } = key
  const before = known.data === null ? undefined : { sessionId, mtime: 0, data: { ...known.data } }
  // Transcripts of sub-agents are not listed, and need no summary.
  const data = key.subpath === undefined ? foldSessionSummary(before, key, [...lines]).data : null
  return [...beside, { channel: SUMMARY, key: SUMMARY, value: { data, messages, lines: count } as unknown as Json }]
}

/** Without those that are there already, whatever they say by now. */
async function unknownOf(session: AdapterSession, lines: readonly SessionStoreEntry[]): Promise<SessionStoreEntry[]> {
  const left: SessionStoreEntry[] = []
  for (const line of lines) {
    if (line.uuid === undefined || (await session.message(line.uuid).catch(ifUnknown)) === undefined) left.push(line)
  }
  return left
}

/** In a damaged session a line that is not known is new: its id keeps it from being appended twice. */
function ifUnknown(error: unknown): undefined {
  if (error instanceof HoldfastError && error.code === 'DAMAGED' && error.details.places !== undefined) return undefined
  throw error
}
