/** The messages of a session, its archives and its entries: section "Reading messages" of docs/format.md. */
import type { Counted, Journal } from './journal.ts'
import type { Archive, Past, Point, State, Stretch } from './state.ts'

export interface Message {
  readonly id: string
  readonly at: string
  readonly depth: number
  readonly archive: number | null
  readonly replaced: boolean
  readonly erased?: true
  readonly message: unknown
}

/** An archive with what came of its task. */
export interface Summary {
  readonly number: number
  readonly status: string
  readonly messageCount: number
  readonly abstract: unknown
  readonly overview: unknown
  readonly memories: readonly unknown[]
  readonly error: unknown
}

/** A message as it was appended, and which piece of the past holds it. */
interface Original {
  readonly id: string
  readonly at: string
  readonly depth: number
  /** Its own messages come after all pieces of the past. */
  readonly place: number
  readonly message: unknown
}

interface Appended {
  readonly messages: readonly unknown[]
  readonly n: number
  readonly ids?: readonly (string | null)[]
  readonly times?: readonly (string | null)[]
}

/** The journal of another session of the same space, by its id. */
export type JournalOf = (session: string) => Journal | undefined

const PAST = -1

/** The branch that ends at a point, from the root on. */
export function branchTo({ runs, past }: Pick<State, 'runs' | 'past'>, point: Point): Stretch[] {
  const stretches: Stretch[] = []
  let { at, n: depth } = point
  while (at !== null) {
    const position = at[0]
    const run = runs.findLast((one) => one.at <= position)
    if (run === undefined) break
    if (depth > run.n) stretches.unshift({ run: run.at, from: run.n, to: depth, first: run.at, last: position })
    depth = Math.min(depth, run.n)
    at = run.parent
  }
  if (depth > 0 && past.length > 0) stretches.unshift({ run: PAST, from: 0, to: depth, first: 0, last: 0 })
  return stretches
}

function isIn(stretches: readonly Stretch[], run: number, depth: number): boolean {
  return stretches.some((one) => one.run === run && one.from < depth && depth <= one.to)
}

export class Messages {
  readonly #journal: Journal
  readonly #state: State
  readonly #journalOf: JournalOf

  constructor(journal: Journal, state: State, journalOf: JournalOf) {
    this.#journal = journal
    this.#state = state
    this.#journalOf = journalOf
  }

  /** The messages of a branch, oldest first, archived ones included. */
  onBranch(point: Point = this.#state.head): Message[] {
    return branchTo(this.#state, point).flatMap((stretch) => this.#in(stretch))
  }

  /** How many messages of the branch no archive holds. */
  get liveCount(): number {
    const held = this.#state.archives.flatMap(({ takes, covers }) => [...takes, ...covers])
    const depths = branchTo(this.#state, this.#state.head).flatMap(({ run, from, to }) =>
      Array.from({ length: to - from }, (_, i) => isIn(held, run, from + i + 1)),
    )
    return depths.filter((isHeld) => !isHeld).length
  }

  /** Every content that a message has had; the tombstone alone, if it was erased. */
  revisions(id: string): unknown[] {
    const original = [...this.#originals()].find((one) => one.id === id)
    if (original === undefined) return []
    const pieces = this.#sessions().filter(({ place }) => place >= original.place)
    const later = pieces.flatMap(({ journal, born, end }) => chainOf(journal, born, end, id))
    return later.at(-1)?.isErased === true ? [later.at(-1)?.message] : [original.message, ...later.map(({ message }) => message)]
  }

  archives(): Summary[] {
    return this.#state.archives.map(({ number, status, session, ended, n, retracted }) => {
      const journal = session === null ? this.#journal : this.#journalOf(session)
      const record = ended === null ? undefined : journal?.at(ended)?.record
      const finished = record?.type === 'commit.finished' ? record : undefined
      const memories = retracted ? [] : ((finished?.memories ?? []) as readonly unknown[])
      const error = record?.type === 'commit.failed' ? record.error : null
      return {
        number,
        status,
        messageCount: n,
        abstract: finished?.abstract ?? null,
        overview: finished?.overview ?? null,
        memories,
        error,
      }
    })
  }

  messagesOf({ takes, covers }: Archive): Message[] {
    const messages = [...covers, ...takes].flatMap((stretch) => this.#in(stretch))
    return messages.sort((a, b) => a.depth - b.depth)
  }

  /** The last value of each entry of a channel, the newest first. */
  entries(channel: string): { readonly key: string; readonly value: unknown }[] {
    const seen = new Set<string>()
    const found: { key: string; value: unknown }[] = []
    for (let at = this.#state.channels.find(({ name }) => name === channel)?.last ?? null; at !== null; ) {
      const record = this.#journal.at(at)?.record
      for (const entry of ((record?.entries ?? []) as { channel: string; key: string; value?: unknown }[]).toReversed()) {
        if (entry.channel !== channel || seen.has(entry.key)) continue
        seen.add(entry.key)
        if (entry.value !== undefined) found.push({ key: entry.key, value: entry.value })
      }
      at = ((record?.before ?? []) as [string, number | null][]).find(([name]) => name === channel)?.[1] ?? null
    }
    return found
  }

  #in(stretch: Stretch): Message[] {
    return this.#pieces(stretch).flatMap(({ journal, piece, place }) =>
      originalsIn(journal, piece, place).map((original) => this.#shown(original, stretch.run)),
    )
  }

  #pieces(stretch: Stretch): { journal: Journal | undefined; piece: Stretch; place: number }[] {
    const { past } = this.#state
    if (stretch.run !== PAST) return [{ journal: this.#journal, piece: stretch, place: past.length }]
    return past.map((piece, place) => {
      const cut = { ...piece, from: Math.max(piece.from, stretch.from), to: Math.min(piece.to, stretch.to) }
      return { journal: this.#journalOf(piece.session), piece: cut, place }
    })
  }

  *#originals(): Generator<Original> {
    const { past, born } = this.#state
    for (const [place, piece] of past.entries()) yield* originalsIn(this.#journalOf(piece.session), piece, place)
    const own = { run: 0, from: 0, to: Number.POSITIVE_INFINITY, first: born, last: Number.POSITIVE_INFINITY }
    yield* originalsIn(this.#journal, own, past.length)
  }

  /** The message with its newest content. */
  #shown({ id, at, depth, place, message }: Original, run: number): Message {
    const archive = this.#state.archives.find(({ takes, covers }) => isIn([...takes, ...covers], run, depth))?.number ?? null
    for (const { journal, born, end, place: last } of this.#sessions().toReversed()) {
      const newest = last < place ? undefined : chainOf(journal, born, end, id).at(-1)
      if (newest === undefined) continue
      const erased = newest.isErased ? { erased: true as const } : {}
      return { id, at, depth, archive, replaced: true, ...erased, message: newest.message }
    }
    return { id, at, depth, archive, replaced: false, message }
  }

  /** The sessions that may have replaced a message: those of the past, each up to where it was forked, and this one. */
  #sessions(): { journal: Journal | undefined; born: number; end: number; place: number }[] {
    const { past, born } = this.#state
    const isLast = ({ session, born: of }: Past, next: Past | undefined) => next?.session !== session || next.born !== of
    const inherited = past.flatMap((piece, place) =>
      isLast(piece, past[place + 1]) ? [{ journal: this.#journalOf(piece.session), born: piece.born, end: piece.end, place }] : [],
    )
    return [...inherited, { journal: this.#journal, born, end: Number.POSITIVE_INFINITY, place: past.length }]
  }
}

function originalsIn(journal: Journal | undefined, { from, to, first, last }: Stretch, place: number): Original[] {
  const records = journal?.between(first, last) ?? []
  return records.flatMap((counted) => {
    if (counted.record.type !== 'messages.appended') return []
    const { messages, n, ids, times } = counted.record as unknown as Appended
    return messages.flatMap((message, index) => {
      const depth = n + index + 1
      const id = messageId(counted, index, ids)
      return depth > from && depth <= to ? [{ id, at: times?.[index] ?? counted.record.at, depth, place, message }] : []
    })
  })
}

export function messageId({ record }: Counted, index: number, ids: readonly (string | null)[] | undefined): string {
  return ids?.[index] ?? (index === 0 ? record.id : `${record.id}.${index}`)
}

interface Replacement {
  readonly message: unknown
  readonly isErased: boolean
}

/** What one incarnation of a session replaced a message with, before a position. An erasure counts wherever it is. */
function chainOf(journal: Journal | undefined, born: number, end: number, id: string): Replacement[] {
  if (journal === undefined) return []
  const records = journal.between(born, endOfIncarnation(journal, born)).filter(({ record }) => record.target === id)
  const erased = records.findLast(({ record }) => record.type === 'message.erased')
  if (erased !== undefined) {
    const role = erased.record.role as string | null
    return [{ message: { ...(role === null ? {} : { role }), content: '[erased]' }, isErased: true }]
  }
  const replaced = records.filter(({ record, at }) => record.type === 'message.replaced' && at < end)
  return replaced.map(({ record }) => ({ message: record.message, isErased: false }))
}

/** A later incarnation begins with its own `session.created`. */
function endOfIncarnation(journal: Journal, born: number): number {
  const next = journal.between(born + 1, Number.POSITIVE_INFINITY).find(({ record }) => record.type === 'session.created')
  return (next?.at ?? Number.POSITIVE_INFINITY) - 1
}
