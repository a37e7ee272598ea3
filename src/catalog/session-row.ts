/** The row of one session in the catalog, as its journal says it. */
import type { Known, Mark, SessionPut, SummaryPut } from '../engine/catalog.ts'
import type { Engine, Journal } from '../engine/port.ts'
import { journalBytes } from '../journal/journal-bytes.ts'
import { Records } from '../journal/records.ts'
import type { Tail } from '../journal/tail.ts'
import type { JsonObject } from '../record/record.ts'
import { epochOf } from '../record/watermark.ts'
import { infoOf } from '../session/info.ts'
import type { CommitFinished } from '../session/records.ts'
import { type Archive, INITIAL, type SessionState } from '../session/state.ts'
import { isWhole } from '../verify/session-problems.ts'

/** Of a journal that cannot be read, nothing is known. */
const UNREAD: Mark = { end: -1, crc: '' }

/** Which session a row is for, and what the catalog has of it. */
export interface RowSubject {
  readonly engine: Engine
  readonly name: string
  readonly space: string
  readonly id: string
  readonly known: Known | undefined
}

/** How the journal of that session was read. */
export interface RowReading {
  readonly journal: Journal
  readonly tail: Tail<SessionState>
  /** The tail was kept since it was read for what the catalog has, so the journal continues from there. */
  readonly isHot: boolean
  /** All of the journal is checked for damage, and not only its end. */
  readonly thorough: boolean
}

export async function sessionRow(subject: RowSubject, reading: RowReading): Promise<SessionPut> {
  const { name, space, id, known } = subject
  const { tail, journal } = reading
  const { state, segment } = tail
  const mark: Mark = { end: tail.end, crc: tail.prev }
  const { isHurt, continues } = await compare(subject, reading, mark)
  const atEnd = infoOf(id, state, tail.damage)
  const info = atEnd.status === 'ok' && isHurt ? { ...atEnd, status: 'damaged' as const } : atEnd
  // What was read while bytes were missing lacks what has been put back since.
  const isRestored = known?.status === 'damaged' && info.status !== 'damaged'
  const rebuilt = known !== undefined && (!continues || isRestored)
  const since = known === undefined || rebuilt ? 0 : Math.max(0, known.mark.end)
  return {
    ...{ name, basedOn: known?.mark ?? null, mark, born: state.born, rebuilt, space, id, status: info.status },
    ...describedFields(state),
    info: info as unknown as JsonObject,
    live: info.messageCount,
    archived: info.totalMessageCount - info.messageCount,
    tokens: info.totalTokens,
    bytes: await journalBytes(journal, segment === 0 ? [0] : await journal.segments(), mark.end),
    past: state.past.map((piece) => ({ ...piece, name: subject.engine.name(space, piece.session) })),
    ...(await archiveFields(journal, state, since)),
  }
}

/** The row of a session whose journal cannot be read, or belongs to another session. */
export function unreadableRow({ name, space, id, known }: RowSubject, status: 'damaged' | 'unreadable'): SessionPut {
  const info = { ...infoOf(id, INITIAL, []), status }
  return {
    ...{ name, basedOn: known?.mark ?? null, mark: UNREAD, born: known?.born ?? 0, rebuilt: false, space, id, status },
    ...{ title: null, tags: [], owner: null, workspace: null, parent: null, metadata: {}, usage: [], createdAt: '', updatedAt: '' },
    ...{ info: info as unknown as JsonObject, live: 0, archived: 0, tokens: 0, bytes: 0, due: false, past: [] },
    ...{ tasks: [], summaries: [], retracted: [], erased: [] },
  }
}

/** `isHurt`: something before the end of the journal is damaged. `continues`: all that the catalog has of the session is still true. */
async function compare(
  { engine, known }: RowSubject,
  { journal, tail, isHot, thorough }: RowReading,
  mark: Mark,
): Promise<{ readonly isHurt: boolean; readonly continues: boolean }> {
  const { state, segment } = tail
  // The catalog may hold what is missing now, and only reading all of the journal again shows what is left.
  const hasGap = thorough && segment > state.born && !(await isWhole(engine, journal, state))
  if (known === undefined) return { isHurt: hasGap, continues: false }
  const isAnother = known.born !== state.born || epochOf(mark.end) > epochOf(Math.max(known.mark.end, known.text.end, 0))
  // What the catalog holds may be among what was lost, if the loss was accepted since.
  const isAccepted = state.accepted.length > 0 && (await isAcceptedBetween(journal, known.mark.end, mark.end))
  const continues = !hasGap && !isAnother && !isAccepted && (isHot || (await isContinuation(journal, known, mark)))
  // Damage before the segment that the tail has read stays known, even after appends, until all of it is read again.
  const wasHurt = known.status === 'damaged' && known.mark.end >= 0 && continues && segment > state.born
  return { isHurt: thorough ? hasGap : wasHurt, continues }
}

/** Whether a journal is the one that is known, and no shorter: a store may have been put back to an older state. */
async function isContinuation(journal: Journal, known: Known, mark: Mark): Promise<boolean> {
  if (mark.end < known.mark.end) return false
  if (mark.end === known.mark.end) return mark.crc === known.mark.crc
  return known.text.crc === '' || isTextInPlace(journal, known)
}

/** Whether the last record whose text is known is still in its place. */
export async function isTextInPlace(journal: Journal, { text }: Known): Promise<boolean> {
  return (await new Records(journal).at(text.at))?.crc === text.crc
}

/** Whether a loss was accepted since a journal ended at a position. */
async function isAcceptedBetween(journal: Journal, from: number, end: number): Promise<boolean> {
  for await (const { record } of new Records(journal).forward(Math.max(from, 0), end - 1))
    if (record.type === 'damage.acknowledged') return true
  return false
}

function describedFields({ title, tags, owner, workspace, parent, metadata, usage, createdAt, updatedAt }: SessionState) {
  return { title, tags, owner, workspace, parent: parent?.session ?? null, metadata, usage, createdAt, updatedAt }
}

/** What the archives of a session say; their tasks and summaries only if they changed since a position. */
async function archiveFields(
  journal: Journal,
  { archives, status, policies }: SessionState,
  since: number,
): Promise<Pick<SessionPut, 'due' | 'tasks' | 'summaries' | 'retracted' | 'erased'>> {
  const own = archives.filter(isOwn)
  return {
    due: status === 'live' && (own.some(isOpen) || policies.auto_commit !== undefined),
    tasks: own.filter((archive) => changedAt(archive) >= since).map(taskOf),
    summaries: await summariesSince(journal, own, since),
    retracted: own.filter(({ retracted }) => retracted).map(({ number }) => number),
    erased: own.filter((archive) => archive.erased !== undefined && archive.status !== 'completed').map(({ number }) => number),
  }
}

/** Not of the session that this one was forked from. */
export function isOwn({ session }: Archive): boolean {
  return session === null
}

function isOpen({ status }: Archive): boolean {
  return status === 'pending' || status === 'running'
}

/** Position of the last record that changed its task. */
function changedAt({ at, ended, lease, erased }: Archive): number {
  return Math.max(at, ended ?? 0, lease?.at ?? 0, erased ?? 0)
}

function taskOf({ number, task, status, attempts, requestedAt, updatedAt, ended }: Archive): SessionPut['tasks'][number] {
  return { archive: number, task, status, attempts, createdAt: requestedAt, updatedAt, ended }
}

async function summariesSince(journal: Journal, archives: readonly Archive[], since: number): Promise<SummaryPut[]> {
  const summaries: SummaryPut[] = []
  const records = new Records(journal)
  for (const { number, status, ended, retracted } of archives) {
    if (status !== 'completed' || retracted || ended === null || ended < since) continue
    const found = await records.eitherCopyAt(ended, 'commit.finished')
    if (found?.record.type !== 'commit.finished') continue
    const { owner, memories, abstract, overview } = found.record as unknown as CommitFinished
    summaries.push({ archive: number, position: ended, at: found.record.at, text: `${abstract}\n${overview}`, owner, memories })
  }
  return summaries
}
