/**
 * Looking at one session for the catalog: at its row, and at the text of its messages from where it was read up to. Everything that it tells
 * is durable. It keeps its own copy of the ends of journals, so that a session that goes on changing costs the bytes that are new.
 */

import type { DataKeys } from '../encryption/data-keys.ts'
import type { Known, Mark, SessionPut, SummaryPut, TextPut } from '../engine/catalog.ts'
import { systemClock } from '../engine/clock.ts'
import { systemIds } from '../engine/ids.ts'
import type { Engine, Journal } from '../engine/port.ts'
import { idOf } from '../engine/session-id-of.ts'
import { HoldfastError } from '../errors.ts'
import { journalBytes } from '../journal/journal-bytes.ts'
import type { Loss } from '../journal/loss.ts'
import { isNamedIn } from '../journal/loss.ts'
import { OwnJournal } from '../journal/own-journal.ts'
import { Records } from '../journal/records.ts'
import { Replicas } from '../journal/replicas.ts'
import { Tail } from '../journal/tail.ts'
import { isDamaged } from '../record/damage.ts'
import { LIMITS } from '../record/limits.ts'
import type { JsonObject } from '../record/record.ts'
import { epochOf } from '../record/watermark.ts'
import { branchTo, PAST, without } from '../session/branch.ts'
import { infoOf } from '../session/info.ts'
import type { CommitFinished } from '../session/records.ts'
import { sessionReducer } from '../session/reducer.ts'
import { type Archive, INITIAL, type SessionState } from '../session/state.ts'
import { isWhole } from '../verify/session-problems.ts'
import { MessageReader } from './message-reader.ts'

/** What looks at sessions: an examiner, or one in another thread. */
export interface Examining {
  /** The rows of some sessions; undefined where there is none. `known` must have been asked for before: what is read is at least as new. */
  rows(sessions: readonly Asked<Known | undefined>[], look: Look): Promise<(SessionPut | undefined)[]>
  /** The text behind what is known, a bounded piece of each; undefined where there is nothing to tell. */
  texts(sessions: readonly Asked<Known>[]): Promise<(TextPut | undefined)[]>
  /** Both of sessions of which nothing is known, read once. */
  wholes(names: readonly string[]): Promise<(Whole | undefined)[]>
}

/**
 * Why sessions are looked at. `announced`: they have changed, and go on changing, so the ends of their journals are kept. `swept`: they may have
 * changed. `damaged`: somebody says that they are, or are no longer; all of them is read, and not only the end.
 */
export type Look = 'announced' | 'swept' | 'damaged'

export interface Whole {
  readonly row: SessionPut
  readonly text: TextPut | undefined
}

export interface Asked<K> {
  readonly name: string
  readonly known: K
}

/** Ends of journals that are kept. */
const KEPT = 256
/** Of a journal that cannot be read, nothing is known. */
const UNREAD: Mark = { end: -1, crc: '' }

interface Seen {
  readonly journal: Journal
  readonly tail: Tail<SessionState>
  /** It was read before: what is read now goes on from that. */
  readonly isHot: boolean
}

export interface ExaminerOptions {
  readonly engine: Engine
  /** Of an encrypted store. */
  readonly dataKeys?: DataKeys | undefined
}

export class Examiner implements Examining {
  readonly #engine: Engine
  readonly #spaces: ReadonlySet<string>
  readonly #replicas: Replicas<SessionState>
  /** In order of use. */
  readonly #tails = new Map<string, Omit<Seen, 'isHot'>>()

  /** `spaces`: where to look for a session that cannot tell its own. */
  constructor({ engine, dataKeys }: ExaminerOptions, spaces: ReadonlySet<string>) {
    this.#engine = engine
    this.#spaces = spaces
    this.#replicas = new Replicas({ reducer: sessionReducer, engine, dataKeys, clock: systemClock, ids: systemIds, limits: LIMITS })
  }

  rows(sessions: readonly Asked<Known | undefined>[], look: Look): Promise<(SessionPut | undefined)[]> {
    return sideBySide(sessions, ({ name, known }) => {
      if (look === 'damaged') this.#tails.delete(name)
      return this.#row(name, known, look === 'announced', look === 'damaged')
    })
  }

  texts(sessions: readonly Asked<Known>[]): Promise<(TextPut | undefined)[]> {
    return sideBySide(sessions, ({ name, known }) => this.#text(name, known))
  }

  wholes(names: readonly string[]): Promise<(Whole | undefined)[]> {
    return sideBySide(names, async (name) => {
      const row = await this.#row(name, undefined, true, true)
      if (row === undefined) return undefined
      const text = row.mark.end > 0 ? await this.#text(name, knownOf(row)) : undefined
      this.#tails.delete(name)
      return { row, text }
    })
  }

  async #row(name: string, known: Known | undefined, keep: boolean, thorough: boolean): Promise<SessionPut | undefined> {
    try {
      // Whether it is still damaged shows only to one who reads it again.
      if (known?.status === 'damaged') this.#tails.delete(name)
      const seen = await this.#see(name, keep)
      const { state, damage, loss } = seen.tail
      if (loss?.as === 'identity') return this.#ill(name, known, 'damaged')
      // Nothing that could be read is not nothing.
      if (state.purged || (state.status === 'absent' && !isDamaged(damage))) return undefined
      return await this.#rowOf(name, known, seen, thorough)
    } catch (error) {
      this.#tails.delete(name)
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
      return this.#ill(name, known, error.code === 'DAMAGED' ? 'damaged' : 'unreadable')
    }
  }

  async #text(name: string, known: Known): Promise<TextPut | undefined> {
    try {
      const seen = await this.#see(name, true)
      const { tail, journal } = seen
      const { state, end } = tail
      // The row is put again first.
      if (state.born !== known.born || hidesGap(tail.loss, known)) return undefined
      const rebuilt = known.text.end > 0 && !(await isSame(journal, known))
      const from = rebuilt ? 0 : known.text.end
      const reader = new MessageReader(journal, tail)
      const { messages, days, last, complete } = await reader.read(Math.max(from, state.born), end)
      const branch = branchTo(state, state.head).filter(({ run }) => run !== PAST)
      const before = rebuilt ? [] : known.branch
      return {
        name,
        seen: { generation: known.generation, end: known.text.end },
        rebuilt,
        text: { end: complete || last === undefined ? end : last.end, at: last?.at ?? known.text.at, crc: last?.crc ?? known.text.crc },
        branch,
        messages,
        left: without(before, branch),
        back: before.length === 0 ? [] : without(branch, before),
        archives: from === 0 ? [] : state.archives.filter((archive) => isOwn(archive) && archive.at >= from).map(stretchesOf),
        days,
      }
    } catch (error) {
      this.#tails.delete(name)
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
      return undefined
    }
  }

  async #see(name: string, keep: boolean): Promise<Seen> {
    const held = this.#tails.get(name)
    const { journal, tail } = held ?? newTail(this.#engine, name)
    // What vanished may have been restored.
    if (tail.loss !== undefined) tail.unload()
    if (!tail.loaded) await tail.load()
    while (await tail.pull());
    try {
      await tail.unsynced.sync()
    } catch (error) {
      // Nobody else may ever write to it in this thread, and without that nothing of it could be shown again.
      await this.#replicas.once(name).replica.carry(error)
      tail.unload()
      await tail.load()
      await tail.unsynced.sync()
    }
    if (keep) {
      this.#tails.delete(name)
      this.#tails.set(name, { journal, tail })
      for (const oldest of this.#tails.keys()) {
        if (this.#tails.size <= KEPT) break
        this.#tails.delete(oldest)
      }
    }
    return { journal, tail, isHot: held !== undefined }
  }

  async #rowOf(name: string, known: Known | undefined, { journal, tail, isHot }: Seen, thorough: boolean): Promise<SessionPut> {
    const { state } = tail
    const mark: Mark = { end: tail.end, crc: tail.prev }
    // The catalog may hold what is missing now, and only reading all of it again shows which of it is left.
    const hasGap = thorough && (await this.#isHurt(journal, tail))
    const isAnother =
      known !== undefined && (known.born !== state.born || epochOf(mark.end) > epochOf(Math.max(known.mark.end, known.text.end, 0)))
    // Where a loss was accepted, what the catalog holds may be among what was lost.
    const isAccepted = known !== undefined && state.accepted.length > 0 && (await isAcceptedBetween(journal, known.mark.end, mark.end))
    const continues = known !== undefined && !hasGap && !isAnother && !isAccepted && (isHot || (await goesOn(journal, known, mark)))
    const space = state.space ?? (known?.space || (await this.#spaceOf(name)))
    const id = state.id ?? idOf({ engine: this.#engine, space }, name)
    const atEnd = infoOf(id, state, tail.damage)
    // Damage before the segment that the tail has read stays known, even after appends, until all of it is read again.
    const wasHurt = known?.status === 'damaged' && known.mark.end >= 0 && continues && tail.segment > state.born
    const isHurt = thorough ? hasGap : wasHurt
    const info = atEnd.status === 'ok' && isHurt ? { ...atEnd, status: 'damaged' as const } : atEnd
    // What was read while bytes were missing lacks what has been put back since.
    const isRestored = known?.status === 'damaged' && info.status !== 'damaged'
    const rebuilt = known !== undefined && (!continues || isRestored)
    const since = known === undefined || rebuilt ? 0 : Math.max(0, known.mark.end)
    const segments = tail.segment === 0 ? [0] : await journal.segments()
    const own = state.archives.filter(isOwn)
    return {
      ...{ name, seen: known?.mark ?? null, mark, born: state.born, rebuilt, space, id, status: info.status },
      title: state.title,
      tags: state.tags,
      owner: state.owner,
      workspace: state.workspace,
      parent: state.parent?.session ?? null,
      metadata: state.metadata,
      usage: state.usage,
      createdAt: state.createdAt,
      updatedAt: state.updatedAt,
      info: info as unknown as JsonObject,
      live: info.messageCount,
      archived: info.totalMessageCount - info.messageCount,
      tokens: info.totalTokens,
      bytes: await journalBytes(journal, segments, mark.end),
      due: state.status === 'live' && (own.some(isOpen) || state.policies.auto_commit !== undefined),
      past: state.past.map((piece) => ({ ...piece, name: this.#engine.name(space, piece.session) })),
      tasks: own.filter((archive) => changedAt(archive) >= since).map(taskOf),
      summaries: await summariesSince(journal, own, since),
      retracted: own.filter(({ retracted }) => retracted).map(({ number }) => number),
      erased: own.filter(({ erased, status }) => erased !== undefined && status !== 'completed').map(({ number }) => number),
    }
  }

  /** Whether something in front of the segments that the tail has read is damaged. */
  async #isHurt(journal: Journal, { state, segment }: Tail<SessionState>): Promise<boolean> {
    if (segment <= state.born) return false
    return !(await isWhole(this.#engine, journal, state))
  }

  async #ill(name: string, known: Known | undefined, status: 'damaged' | 'unreadable'): Promise<SessionPut> {
    const space = known?.space || (await this.#spaceOf(name))
    const id = idOf({ engine: this.#engine, space }, name)
    const info = { ...infoOf(id, INITIAL, []), status }
    return {
      ...{ name, seen: known?.mark ?? null, mark: UNREAD, born: known?.born ?? 0, rebuilt: false, space, id, status },
      ...{ title: null, tags: [], owner: null, workspace: null, parent: null, metadata: {}, usage: [], createdAt: '', updatedAt: '' },
      ...{ info: info as unknown as JsonObject, live: 0, archived: 0, tokens: 0, bytes: 0, due: false, past: [] },
      ...{ tasks: [], summaries: [], retracted: [], erased: [] },
    }
  }

  /** The space of a journal that does not tell it; empty if nobody has asked for that space yet. */
  async #spaceOf(name: string): Promise<string> {
    for (const space of this.#spaces) for await (const one of this.#engine.names(space)) if (one === name) return space
    return ''
  }
}

/** How many sessions are looked at side by side. */
const SIDE_BY_SIDE = 16

export async function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let i = 0; i < items.length; i += SIDE_BY_SIDE) results.push(...(await Promise.all(items.slice(i, i + SIDE_BY_SIDE).map(work))))
  return results
}

function newTail(engine: Engine, name: string): Omit<Seen, 'isHot'> {
  const journal = engine.journal(name)
  const isNamed = isNamedIn(engine, name)
  return { journal: new OwnJournal(journal, isNamed), tail: new Tail(journal, sessionReducer, { readsKeys: false, isNamed }) }
}

/** Whether text that is read now would pass over a gap that the row does not show: it would stay missing when the gap is closed. */
function hidesGap(loss: Loss | undefined, { status, text }: Known): boolean {
  if (loss === undefined) return false
  return loss.as === 'identity' || (status === 'ok' && loss.to > text.end)
}

/** What a catalog knows once it has this row and nothing else. */
function knownOf({ mark, status, space, born }: SessionPut): Known {
  return { mark, status, space, born, generation: 0, text: { end: 0, at: 0, crc: '' }, branch: [] }
}

/** Whether a journal is the one that is known, and no shorter: a store may have been put back to an older state. */
async function goesOn(journal: Journal, known: Known, mark: Mark): Promise<boolean> {
  if (mark.end < known.mark.end) return false
  if (mark.end === known.mark.end) return mark.crc === known.mark.crc
  return known.text.crc === '' || isSame(journal, known)
}

/** Whether a loss was accepted since a journal ended at a position. */
async function isAcceptedBetween(journal: Journal, from: number, end: number): Promise<boolean> {
  for await (const { record } of new Records(journal).forward(Math.max(from, 0), end - 1))
    if (record.type === 'damage.acknowledged') return true
  return false
}

/** Whether the last record whose text is known stands where it stood. */
async function isSame(journal: Journal, { text }: Known): Promise<boolean> {
  return (await new Records(journal).at(text.at))?.crc === text.crc
}

function isOwn({ session }: Archive): boolean {
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

function stretchesOf({ number, takes, covers }: Archive): TextPut['archives'][number] {
  return { archive: number, stretches: [...takes, ...covers].filter(({ run }) => run !== PAST) }
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
