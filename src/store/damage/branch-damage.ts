/**
 * Which damage an answer about one branch has to report: turns gaps in its depths into places of journals, and adds what was lost
 * elsewhere in the session's own journal. Reads a journal only where something is missing.
 */
import { HoldfastError } from '../../errors.ts'
import { reasonOf } from '../../record/damage.ts'
import {
  damagedPlaces,
  isAccepted,
  type LostStretch,
  type MissingMessages,
  overlaps,
  withoutRepeated,
} from '../../session/damaged-places.ts'
import type { SessionState } from '../../session/state.ts'
import type { Gap } from '../messages/depth-gaps.ts'
import type { Journals } from '../messages/journals.ts'
import type { Reach } from '../messages/replacements.ts'
import type { DamagedPlace } from './damage.ts'
import { lostBefore, lostBetween, lostIn, lostInTail } from './damage-scan.ts'

/** Everything of this session's own journal. */
const EVERYWHERE: readonly [number, number] = [-1, Number.POSITIVE_INFINITY]

export class BranchDamage {
  readonly #journals: Journals
  readonly #session: string
  readonly #state: SessionState

  constructor(journals: Journals, session: string, state: SessionState) {
    this.#journals = journals
    this.#session = session
    this.#state = state
  }

  /** The places of an answer that met these gaps and covers these positions. `lost`: what is known to be lost elsewhere. */
  async places(gaps: readonly Gap[], within: readonly [number, number], lost?: readonly LostStretch[]): Promise<DamagedPlace[]> {
    const { noticed, accepted, head } = this.#state
    const known = lost ?? (await this.#lostInTail())
    if (gaps.length === 0 && known.length === 0 && noticed.length === 0 && accepted.length === 0) return []
    const missing: MissingMessages[] = []
    for (const gap of gaps.toSorted((a, b) => a.from - b.from)) missing.push(await this.#located(gap))
    const places: DamagedPlace[] = []
    for (const place of damagedPlaces({ gaps: missing, lost: known, noticed, accepted, within, head: head.at?.[0] ?? -1 }))
      if (!(await this.#isRestored(place))) places.push(place)
    return places
  }

  /** Whether an accepted place that costs no message can be read again, after the session was restored from a backup. */
  async #isRestored({ position, count, reason, accepted, session }: DamagedPlace): Promise<boolean> {
    const mayBe = accepted === true && count === 0 && session === undefined && (reason === 'rotten' || reason === 'zeros')
    const gap = mayBe ? this.#state.accepted.find((one) => one.position === position) : undefined
    if (gap === undefined) return false
    return (await lostBetween(this.#journals.journal(this.#session), gap.position, gap.to)).length === 0
  }

  /** Records that cannot be read, by their positions: they hold no message that the answer lacks. */
  async records(lost: readonly { readonly session: string; readonly position: number }[]): Promise<DamagedPlace[]> {
    const places: DamagedPlace[] = []
    for (const { session, position } of lost) {
      const isOwn = session === this.#session
      const known = isOwn ? this.#state.accepted : (await this.#journals.condition(session)).accepted
      const [{ reason } = { reason: 'missing' as const }] = await lostBetween(this.#journals.journal(session), position, position + 1)
      const accepted = isAccepted({ position, to: position }, known) ? { accepted: true as const } : {}
      places.push({ position, count: 0, reason, ...(isOwn ? {} : { session }), ...accepted })
    }
    return places
  }

  /** The same with all damage of this session's journal, which is read for it. */
  async allPlaces(gaps: readonly Gap[]): Promise<DamagedPlace[]> {
    const lost = await lostIn(this.#journals.journal(this.#session), { from: this.#state.born })
    return this.places(gaps, EVERYWHERE, [...lost.filter(({ to }) => to >= this.#state.born), ...this.#wholeLosses()])
  }

  /**
   * Why there is no message with an id: the error if a record that cannot be read may have held it, undefined if none can have. Reads the
   * journals, once for each handle of a journal: only for an id that was not found.
   */
  async whyUnknown(id: string): Promise<HoldfastError | undefined> {
    const { past } = this.#state
    let places = await this.openPlaces()
    for (const session of new Set(past.map((piece) => piece.session))) {
      const { gone, accepted: theirs } = await this.#journals.condition(session)
      const lost = gone === undefined ? await this.#lostOf(session) : [gone]
      const pieces = past.filter((piece) => piece.session === session && piece.from < piece.to)
      places += lost.filter((one) => !isAccepted(one, theirs) && pieces.some(({ first, last }) => overlaps(one, [first, last]))).length
    }
    return places === 0 ? undefined : notReadable(`The message "${id}"`, 'messages', { message_id: id, places })
  }

  /** Whether records may be lost that messages or entries depend on. Reads nothing. */
  get mayLack(): boolean {
    const { noticed, past } = this.#state
    return noticed.length > 0 || past.length > 0 || this.#journals.damage(this.#session).length > 0
  }

  /** What is known to be lost in some stretches of journals, and not accepted. An answer about one message or entry lacks no message by it. */
  async openLosses(reach: readonly Omit<Reach, 'piece'>[]): Promise<DamagedPlace[]> {
    if (!this.mayLack) return []
    const places: DamagedPlace[] = []
    for (const { session, after, before } of reach) {
      for (const one of await this.#openLossesOf(session))
        if (Math.max(one.position, one.to - 1) > after && one.position < before) places.push(this.#placeOf(session, one))
    }
    return withoutRepeated(places)
  }

  async #openLossesOf(session: string): Promise<LostStretch[]> {
    if (session !== this.#session) {
      const { gone, accepted } = await this.#journals.condition(session)
      const lost = gone === undefined ? await this.#lostInTail(session) : [gone]
      return lost.filter((one) => !isAccepted(one, accepted))
    }
    const { noticed, accepted } = this.#state
    const lost = (await this.#lostInTail()).filter((one) => !isAccepted(one, accepted))
    for (const one of noticed) {
      const isKnown = isAccepted(one, accepted) || lost.some((other) => overlaps(other, [one.position, one.to]))
      // A session that was restored from a backup has these records again.
      if (!isKnown && (await lostBetween(this.#journals.journal(session), one.position, one.to)).length > 0) lost.push(one)
    }
    return lost
  }

  #placeOf(session: string, { position, reason, since }: LostStretch): DamagedPlace {
    const time = since === undefined || since === '' ? {} : { since }
    return { position, count: 0, reason, ...(session === this.#session ? {} : { session }), ...time }
  }

  /** How many places of this session's journal cannot be read and were not accepted. Reads all of it, once for each handle of the journal. */
  async openPlaces(): Promise<number> {
    const { born, accepted } = this.#state
    return (await this.#lostOf(this.#session)).filter((one) => one.to >= born && !isAccepted(one, accepted)).length
  }

  async #lostOf(session: string): Promise<readonly LostStretch[]> {
    const journal = this.#journals.journal(session)
    const newest = this.#journals.newest(session)
    const tail = newest === undefined ? await lostIn(journal) : await this.#lostInTail(session)
    if (newest === undefined) return tail
    const earlier = await lostBefore(journal, newest.segment)
    return [...earlier, ...tail.filter(({ position }) => !earlier.some((one) => one.position === position))]
  }

  /** What was lost in the part of a journal that this process has loaded. It is read again, if something there is spoiled. */
  async #lostInTail(session = this.#session): Promise<LostStretch[]> {
    const damage = this.#journals.damage(session)
    if (damage.length === 0) return []
    const lines = damage.filter(({ as }) => !isWhole(as))
    const lost = lines.length === 0 ? [] : await lostInTail(this.#journals.journal(session), lines)
    const whole = this.#wholeLosses(session)
    // What is left of bytes that vanished, zeros for example, is the same loss.
    return [...lost.filter((one) => !whole.some(({ position, to }) => overlaps(one, [position, to]))), ...whole]
  }

  /** Bytes that vanished, and files of another session: no line shows them. */
  #wholeLosses(session = this.#session): LostStretch[] {
    const since = session === this.#session ? this.#state.updatedAt : undefined
    return this.#journals
      .damage(session)
      .filter(({ as }) => isWhole(as))
      .map(({ at, length, as }) => ({ position: at, to: at + length, reason: reasonOf(as), since }))
  }

  async #located({ piece, from, to, before, next, noticed }: Gap): Promise<MissingMessages> {
    const between =
      noticed === undefined
        ? ([before?.end ?? piece.first, next?.at ?? piece.last + 1] as const)
        : ([noticed.position, noticed.to] as const)
    const lost = await lostBetween(this.#journals.journal(piece.journal), ...between)
    const plain = { position: between[0], to: between[1], reason: noticed?.reason ?? ('missing' as const), since: before?.record.at }
    const where = lost[0] ?? plain
    const count = noticed === undefined ? to - from : null
    const isOwn = piece.journal === this.#session
    const { foreign, gone, accepted } = isOwn
      ? { ...this.#state, foreign: false, gone: undefined }
      : await this.#journals.condition(piece.journal)
    // Where no line is left of what was lost, what was accepted there is this loss.
    const isOpen = this.#wholeLosses(piece.journal).some((one) => overlaps(one, between))
    const isKnown = lost.length > 0 ? lost.every((one) => isAccepted(one, accepted)) : accepted.some((one) => overlaps(one, between))
    if (isOwn) return { ...where, count, between, accepted: isKnown && !isOpen }
    const reason = foreign ? 'identity' : (lost[0]?.reason ?? gone?.reason ?? plain.reason)
    return { ...where, reason, count, between, session: piece.journal, accepted: isKnown && !isOpen }
  }
}

function isWhole(as: string): boolean {
  return as === 'vanished' || as === 'identity'
}

/** Nothing was found, and what cannot be read may have held it. */
export function notReadable(
  what: string,
  among: 'messages' | 'entries',
  details: { readonly places: number; readonly [name: string]: unknown },
): HoldfastError {
  const { places } = details
  const where = places === 1 ? '1 place of this session cannot' : `${places} places of this session cannot`
  return new HoldfastError(
    'DAMAGED',
    `${what} is not among the ${among} that can be read, and ${where} be read. Run \`holdfast doctor\` to see what is lost.`,
    { details },
  )
}
