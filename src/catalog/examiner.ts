/**
 * Looking at one session for the catalog: at its row, and at the text of its messages from where it was read up to. Everything that it tells
 * is durable. It keeps its own copy of the ends of journals, so that a session that goes on changing costs the bytes that are new.
 */

import type { DataKeys } from '../encryption/data-keys.ts'
import type { Known, SessionPut, TextPut } from '../engine/catalog.ts'
import { systemClock } from '../engine/clock.ts'
import { systemIds } from '../engine/ids.ts'
import type { Engine, Journal } from '../engine/port.ts'
import { idOf } from '../engine/session-id-of.ts'
import { HoldfastError } from '../errors.ts'
import type { Loss } from '../journal/loss.ts'
import { isNamedIn } from '../journal/loss.ts'
import { OwnJournal } from '../journal/own-journal.ts'
import { Replicas } from '../journal/replicas.ts'
import { Tail } from '../journal/tail.ts'
import { isDamaged } from '../record/damage.ts'
import { LIMITS } from '../record/limits.ts'
import { branchTo, PAST, without } from '../session/branch.ts'
import { sessionReducer } from '../session/reducer.ts'
import { type Archive, INITIAL, type SessionState } from '../session/state.ts'
import { MessageReader } from './message-reader.ts'
import { isOwn, isTextInPlace, type RowSubject, sessionRow, unreadableRow } from './session-row.ts'

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

interface ReadJournal {
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
  readonly #tails = new Map<string, Omit<ReadJournal, 'isHot'>>()

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
      if (loss?.as === 'identity') return unreadableRow(await this.#subject(name, known), 'damaged')
      // Nothing that could be read is not nothing.
      if (state.purged || (state.status === 'absent' && !isDamaged(damage))) return undefined
      return await sessionRow(await this.#subject(name, known, state), { ...seen, thorough })
    } catch (error) {
      this.#tails.delete(name)
      if (!(error instanceof HoldfastError) || error.code === 'CLOSED') throw error
      return unreadableRow(await this.#subject(name, known), error.code === 'DAMAGED' ? 'damaged' : 'unreadable')
    }
  }

  async #text(name: string, known: Known): Promise<TextPut | undefined> {
    try {
      const seen = await this.#see(name, true)
      const { tail, journal } = seen
      const { state, end } = tail
      // The row is put again first.
      if (state.born !== known.born || hidesGap(tail.loss, known)) return undefined
      const rebuilt = known.text.end > 0 && !(await isTextInPlace(journal, known))
      const from = rebuilt ? 0 : known.text.end
      const reader = new MessageReader(journal, tail)
      const { messages, days, last, complete } = await reader.read(Math.max(from, state.born), end)
      const branch = branchTo(state, state.head).filter(({ run }) => run !== PAST)
      const before = rebuilt ? [] : known.branch
      return {
        name,
        basedOn: { generation: known.generation, end: known.text.end },
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

  async #see(name: string, keep: boolean): Promise<ReadJournal> {
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
      await this.#replicas.once(name).replica.recoverFrom(error)
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

  /** The session of a journal, by its own records if they say it. */
  async #subject(name: string, known: Known | undefined, state: SessionState = INITIAL): Promise<RowSubject> {
    const space = state.space ?? (known?.space || (await this.#spaceOf(name)))
    const id = state.id ?? idOf({ engine: this.#engine, space }, name)
    return { engine: this.#engine, name, space, id, known }
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

function newTail(engine: Engine, name: string): Omit<ReadJournal, 'isHot'> {
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

function stretchesOf({ number, takes, covers }: Archive): TextPut['archives'][number] {
  return { archive: number, stretches: [...takes, ...covers].filter(({ run }) => run !== PAST) }
}
