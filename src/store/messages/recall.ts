/**
 * What a query brings up from the past of a session: memories of its owner, and messages that archives hold. The full-text index finds them;
 * they are ranked together, by the words that they share with the query. Behind a question that matches stands its answer, and behind an
 * answer its question: one without the other tells half.
 */

import { HoldfastError } from '../../errors.ts'
import { viewOf } from '../../message/message.ts'
import { looseQuery } from '../../message/words.ts'
import { archivedOf } from '../../session/branch.ts'
import type { Archive, SessionState, Stretch } from '../../session/state.ts'
import type { Recalled } from '../../window/assemble.ts'
import { RECALLED, rank } from '../../window/recall.ts'
import { mergedMemories } from '../memories.ts'
import type { SessionParts } from '../parts.ts'
import { findDocuments, messageIdOf } from '../search.ts'
import type { KeptMessage } from './stored-message.ts'
import type { Transcript } from './transcript.ts'

/** Messages that are ranked, the best by the index first. */
const RANKED = 60
/** How many of those that are brought up bring up what stands beside them. */
const WITH_NEIGHBOURS = 4
/** Without an index, the newest messages are looked at, so many of them. */
const LOOKED_AT = 2000

interface Scope {
  readonly session: string
  readonly owner: string | null
  readonly transcript: Transcript
  readonly archives: ReadonlySet<number>
  readonly archived: readonly Stretch[]
}

/** From those archives that stand in the window by their summaries only. */
export async function recall(
  parts: SessionParts,
  query: string,
  session: string,
  { owner }: SessionState,
  transcript: Transcript,
  archives: readonly Archive[],
): Promise<Recalled[]> {
  const scope: Scope = {
    session,
    owner,
    transcript,
    archives: new Set(archives.map(({ number }) => number)),
    archived: archivedOf(archives),
  }
  const memories = (await mergedMemories(parts, scope.owner)).map(({ id, text }) => ({ kind: 'memory', id, text }) as const)
  const messages = await found(parts, query, scope).catch((error: unknown) => {
    if (!(error instanceof HoldfastError) || error.code !== 'UNAVAILABLE') throw error
    return newest(scope)
  })
  const byId = new Map(messages.map((message) => [message.id, message]))
  const best = rank(query, [...memories, ...messages.map(recalledOf)])
  const all = new Map<string, Recalled>()
  for (const [index, one] of best.entries()) {
    all.set(`${one.kind} ${one.id}`, all.get(`${one.kind} ${one.id}`) ?? one)
    const message = one.kind === 'message' && index < WITH_NEIGHBOURS ? byId.get(one.id) : undefined
    const beside = message === undefined ? undefined : await neighbourOf(message, scope)
    if (beside !== undefined && !all.has(`message ${beside.id}`)) all.set(`message ${beside.id}`, recalledOf(beside))
  }
  return [...all.values()].filter(({ text }) => text !== '').slice(0, RECALLED)
}

async function found(parts: SessionParts, query: string, { session, transcript, archives }: Scope): Promise<KeptMessage[]> {
  const text = looseQuery(query)
  if (text === undefined || archives.size === 0) return []
  const messages: KeptMessage[] = []
  for (const document of (await findDocuments(parts, { text, kinds: ['message'], session, limit: RANKED })).found) {
    const id = await messageIdOf(parts, document)
    const message = id === undefined ? undefined : await transcript.message(id)
    if (message !== undefined && message.archive !== null && archives.has(message.archive)) messages.push(message)
  }
  return messages
}

async function newest({ transcript, archived }: Scope): Promise<KeptMessage[]> {
  const messages: KeptMessage[] = []
  for await (const message of transcript.newestFirst(archived)) {
    if (messages.push(message) === LOOKED_AT) break
  }
  return messages
}

/** The message that answers this one, or that it answers; undefined if that is not in an archive. */
async function neighbourOf({ id, message }: KeptMessage, { transcript, archives }: Scope): Promise<KeptMessage | undefined> {
  const { role } = viewOf(message)
  if (role !== 'user' && role !== 'assistant') return undefined
  const page = await transcript.page({ limit: 1, archived: true, ...(role === 'user' ? { after: id } : { before: id }) })
  const [beside] = page.messages
  const isOther = beside !== undefined && viewOf(beside.message).role === (role === 'user' ? 'assistant' : 'user')
  return isOther && beside.archive !== null && archives.has(beside.archive) ? beside : undefined
}

function recalledOf({ id, message }: KeptMessage): Recalled {
  return { kind: 'message', id, text: viewOf(message).text }
}
