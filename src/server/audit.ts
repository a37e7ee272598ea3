/**
 * Who did what: never what was said. One session a day in the store's own space. What opens or closes doors (keys, tokens, shares,
 * deletions, purges) is on the disk before it is answered; ordinary writes are counted by key, action and session, and written down
 * together a few times a second, so a server that is killed forgets at most the last of those counts.
 */

import { STORE_SPACE } from '../engine/names.ts'
import { HoldfastError } from '../errors.ts'
import { LIMITS } from '../record/limits.ts'
import { invalid } from '../session/check.ts'
import type { Page } from '../store/messages/transcript.ts'
import type { Store } from '../store/store.ts'

export interface Deed {
  readonly key: string
  readonly space: string
  /** Method and path of the route, without what was filled in. */
  readonly action: string
  readonly session: string | null
  readonly status: number
  readonly request: string
}

const FLUSH_MS = 250
/** Different deeds that wait at most; more are written down at once. */
const WAITING = 1000

interface Counted extends Omit<Deed, 'request'> {
  readonly at: string
  count: number
}

/** What was written down: one deed, or how often one was done. */
export interface AuditEntry extends Omit<Deed, 'request'> {
  readonly at: string
  readonly count: number
  /** Of one deed. */
  readonly request: string | null
  /** Where it is written down: reading goes on behind it. */
  readonly place: string
}

export interface AuditQuery {
  readonly from: Date
  readonly to: Date
  /** Of all spaces unless told. */
  readonly space?: string
  /** What was written down first unless told. */
  readonly order?: AuditOrder
  /** Behind this place. */
  readonly after?: string
}

type AuditOrder = 'oldest' | 'newest'

const DAY_MS = 86_400_000
/** Days that one call reads at most. */
const AUDIT_DAYS = 400
/** How much later than it was done something may be written down, and on another day. */
const LATE_MS = 60_000
const PLACE = /^(\d{4}-\d\d-\d\d) (\S+)$/

/** What was written down in some time, in the order in which it was: a deed that was counted comes a moment later than one that was not. */
export async function* readAudit(store: Store, { from, to, space, order = 'oldest', after }: AuditQuery): AsyncGenerator<AuditEntry> {
  const [, begin, message] = PLACE.exec(after ?? '') ?? []
  const [earliest, latest] = [dayOf(from.getTime()), dayOf(to.getTime() + LATE_MS)]
  const [step, start, last] = order === 'newest' ? [-1, latest, earliest] : [1, earliest, latest]
  const first = after === undefined ? start : dayOf(Date.parse(begin ?? ''))
  if (Number.isNaN(first)) throw invalid('This cursor is none of the audit: begin without one.')
  if (Math.abs(last - first) > AUDIT_DAYS) throw invalid(`One call reads ${AUDIT_DAYS} days at most.`)
  for (let day = first; (last - day) * step >= 0; day += step) {
    for await (const entry of entriesOf(store, new Date(day * DAY_MS), order, day === first ? message : undefined)) {
      if (entry.at >= from.toISOString() && entry.at <= to.toISOString() && (space === undefined || entry.space === space)) yield entry
    }
  }
}

function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS)
}

async function* entriesOf(store: Store, date: Date, order: AuditOrder, after: string | undefined): AsyncGenerator<AuditEntry> {
  const day = date.toISOString().slice(0, 10)
  const session = store.in(STORE_SPACE).session(sessionOf(day))
  const backwards = order === 'newest'
  for (let behind = after; ; ) {
    let page: Page
    try {
      const begin =
        behind === undefined ? { from: backwards ? ('end' as const) : ('start' as const) } : { [backwards ? 'before' : 'after']: behind }
      page = await session.messages({ limit: LIMITS.pageMessages, ...begin })
    } catch (error) {
      // Nothing was done on that day.
      if (behind === undefined && error instanceof HoldfastError && error.code === 'NOT_FOUND') return
      throw error
    }
    const messages = backwards ? page.messages.toReversed() : page.messages
    for (const { id, message } of messages) yield { count: 1, request: null, ...message, place: `${day} ${id}` } as unknown as AuditEntry
    behind = messages.at(-1)?.id
    if (!page.more || behind === undefined) return
  }
}

function sessionOf(at: string): string {
  return `audit-${at.slice(0, 10)}`
}

export class Audit {
  readonly #store: Store
  #waiting = new Map<string, Counted>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(store: Store) {
    this.#store = store.in(STORE_SPACE)
  }

  /** Resolves once it is on the disk. */
  async record(deed: Deed): Promise<void> {
    await this.#append([{ at: this.#now(), ...deed }])
  }

  /** Is written down soon. */
  count({ key, space, action, session, status }: Deed): void {
    const same = `${key}\n${space}\n${action}\n${status}\n${session}`
    const known = this.#waiting.get(same)
    if (known !== undefined) {
      known.count++
      return
    }
    this.#waiting.set(same, { at: this.#now(), key, space, action, session, status, count: 1 })
    if (this.#waiting.size >= WAITING) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS)
  }

  /** Writes down what waits. A store that refuses it keeps nobody from his work. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const deeds = [...this.#waiting.values()]
    this.#waiting = new Map()
    if (deeds.length > 0) this.#writing = Promise.all([this.#writing, this.#append(deeds).catch(() => undefined)]).then(() => undefined)
    await this.#writing
  }

  async #append(deeds: readonly object[]): Promise<void> {
    const session = this.#store.session<object>(sessionOf(this.#now()))
    await session.append(deeds)
  }

  #now(): string {
    return new Date(this.#store.parts.clock.now()).toISOString()
  }
}
