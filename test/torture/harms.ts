/**
 * Harm that was done to the bytes of a session on purpose, what it took, and which order of messages clients may see since. Pure: the driver does the
 * harm and writes it down (`harm-files.ts`), and `damage-rules.ts` says what clients must have been told.
 */
import { journalName } from '../../src/engine/names.ts'
import { type Call, digestsOf, type History } from './history.ts'

/** `swapped` is put right again; everything else stays as it is until somebody accepts it. */
export type HarmKind =
  | 'cut to zero'
  | 'cut to half'
  | 'cut at a line'
  | 'segment deleted'
  | 'directory deleted'
  | 'swapped'
  | 'rolled back in place'
  | 'rolled back by rename'

export interface Harm {
  readonly kind: HarmKind
  readonly session: string
  /** What was there was read from this moment; the harm was done at the other. */
  readonly from: number
  readonly to: number
  /** Tags of all messages that were there, in order. */
  readonly before: readonly string[]
  /** Of those, the tags that it took. */
  readonly lost: readonly string[]
  /** Titles, and numbers of archives, whose records it took. */
  readonly titles: readonly string[]
  readonly archives: readonly number[]
  /** It took the last record, so that the end of the journal is no longer where it was. */
  readonly isTail: boolean
  /** When everything was put back in its place. */
  readonly undone?: { readonly from: number; readonly to: number }
}

/** What was done to a process: its watermarks may be late, or lost. `place` is null where it was all of them. */
export interface Strike {
  readonly kind: string
  readonly place: string | null
  readonly from: number
  readonly to: number
}

/** Holdfast writes watermarks within a second; the other one is for a machine that is busy. */
const MARKED_US = 2_000_000

/** Harms of one session, in the order in which they were done. */
export function harmsOf({ harms }: Pick<History, 'harms'>, session: string): Harm[] {
  return harms.filter((harm) => harm.session === session).toSorted((a, b) => a.from - b.from)
}

/**
 * Until when a harm must be reported; undefined if it need not be. It must be if it took something whose watermark was written by then: of a call that was answered two
 * seconds before, by a process that nothing happened to from the making of that call up to two seconds after its answer. A power cut may take every watermark of
 * the time before it, so the duty ends there, unless the journal itself says by then that the loss was accepted. A flipped bit may do the same to the
 * watermarks of the sessions in its file.
 */
function dutyOf(harm: Harm, { calls, strikes, flips }: Pick<History, 'calls' | 'strikes' | 'flips'>): number | undefined {
  const taken = new Set(harm.kind === 'swapped' ? harm.before : [...harm.lost, ...harm.titles])
  const shard = `watermarks/${journalName('default', harm.session).split('/')[1]}.`
  const cuts = [...strikes.filter(({ kind }) => kind === 'power cut'), ...flips.filter(({ path }) => path.startsWith(shard))]
  const isMarked = calls.some((call) => {
    if (!('session' in call) || call.session !== harm.session || call.told !== 'ok' || call.ended > harm.from - MARKED_US) return false
    const isTaken = call.kind === 'append' ? call.tags.some((tag) => taken.has(tag)) : call.kind === 'describe' && taken.has(call.title)
    return isTaken && isUndisturbed(call, strikes) && !cuts.some(({ from, to }) => to >= call.begun && from <= harm.from)
  })
  if (!isMarked) return undefined
  const cut = Math.min(...cuts.filter(({ to }) => to >= harm.from).map(({ from }) => from))
  return acceptanceOf(harm, calls).to < cut ? Number.POSITIVE_INFINITY : cut
}

export function dutiesOf(harms: readonly Harm[], history: Pick<History, 'calls' | 'strikes' | 'flips'>): Map<Harm, number> {
  return new Map(
    harms.flatMap((harm) => {
      const duty = dutyOf(harm, history)
      return duty === undefined ? [] : [[harm, duty] as const]
    }),
  )
}

/** Whether a harm may have left no trace. */
export function isUnnoticed(harm: Harm, duties: ReadonlyMap<Harm, number>): boolean {
  return duties.get(harm) !== Number.POSITIVE_INFINITY
}

function isUndisturbed({ client, begun, ended }: Call, strikes: readonly Strike[]): boolean {
  return !strikes.some(({ place, from, to }) => {
    const isItsOwn = place === null || place === client || (client.startsWith('remote') && place.startsWith('server'))
    return isItsOwn && to >= begun && from <= ended + MARKED_US
  })
}

/** When a harm may have been accepted, and when it certainly was. Of a swap: put right. */
export function acceptanceOf(harm: Harm, calls: readonly Call[]): { readonly from: number; readonly to: number } {
  if (harm.kind === 'swapped') return harm.undone ?? { from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY }
  const tried = calls.filter(
    ({ told, ended, ...call }) => call.kind === 'accept' && call.session === harm.session && told !== 'refused' && ended > harm.to,
  )
  const done = tried.filter((call) => call.told === 'ok' && (call.asked ?? call.begun) > harm.to)
  return { from: Math.min(...tried.map(({ begun }) => begun)), to: Math.min(...done.map(({ ended }) => ended)) }
}

/** Whether something happened while a harm was done: nobody knows which came first. */
export function isDuring({ begun, ended }: Pick<Call, 'begun' | 'ended'>, { from, to }: Harm): boolean {
  return begun <= to && ended >= from
}

/** Where a read of some messages ends in the one order: everything before `lo` was seen, and `hi` is the next that can be seen. */
export interface Reach {
  /** How many harms this reader had met. */
  readonly met: number
  readonly lo: number
  readonly hi: number
}

interface View {
  readonly digests: readonly string[]
  /** The place of each message in the one order. */
  readonly places: readonly number[]
}

/**
 * The one order of a session's messages with those that harms took, and what is left of it after each harm. A reader sees a beginning of one of these views: of
 * the first if it has met no harm.
 */
export class Order {
  readonly harms: readonly Harm[]
  readonly #items: { readonly tag: string; readonly lostBy: number }[]
  readonly #views: View[]
  readonly #places = new Map<string, number>()

  constructor(tags: readonly string[], harms: readonly Harm[]) {
    this.harms = harms
    this.#items = tags.map((tag) => ({ tag, lostBy: Number.POSITIVE_INFINITY }))
    for (let number = harms.length; number > 0; number--) this.#putBack(harms[number - 1] as Harm, number)
    this.#views = [...harms.keys(), harms.length].map((met) => this.#viewAfter(met))
    // What was appended again after it was lost is where it is now.
    const byLoss = [...this.#items.entries()].toSorted(([, a], [, b]) => a.lostBy - b.lostBy)
    for (const [place, { tag }] of byLoss) this.#places.set(tag, place)
  }

  /** Puts what a harm took behind the message that it had followed. */
  #putBack({ before, lost }: Harm, number: number): void {
    const taken = new Set(lost)
    let at = 0
    for (const tag of before) {
      if (taken.has(tag)) this.#items.splice(at++, 0, { tag, lostBy: number })
      else {
        const found = this.#items.findIndex((item, place) => place >= at && item.tag === tag)
        if (found !== -1) at = found + 1
      }
    }
  }

  #viewAfter(met: number): View {
    const seen = [...this.#items.entries()].filter(([, { lostBy }]) => lostBy > met)
    return { digests: digestsOf(seen.map(([, { tag }]) => tag)), places: seen.map(([place]) => place) }
  }

  get length(): number {
    return this.#items.length
  }

  /** Where a message is, or was when a harm took it. */
  placeOf(tag: string): number | undefined {
    return this.#places.get(tag)
  }

  tagAt(place: number): string | undefined {
    return this.#items[place]?.tag
  }

  /** Whether a harm took it, and it was not appended again. */
  isLost(tag: string): boolean {
    const place = this.#places.get(tag)
    return place !== undefined && (this.#items[place] as { lostBy: number }).lostBy < Number.POSITIVE_INFINITY
  }

  /** Whether two messages follow each other for a reader, whichever harms it has met. */
  areNeighbours(before: string | null, after: string): boolean {
    return this.#views.some(({ places }) => {
      const index = places.findIndex((place) => this.tagAt(place) === after)
      return index !== -1 && (index === 0 ? null : this.tagAt(places[index - 1] as number)) === before
    })
  }

  /** How far somebody may have seen who saw so many messages by this moment. Without a digest, only their number is compared. */
  reachesOf(count: number, digest: string, ended: number): Reach[] {
    return this.#views.flatMap(({ digests, places }, met) => {
      if (met > 0 && (this.harms[met - 1] as Harm).from > ended) return []
      if (count > places.length || (digest !== '' && digests[count] !== digest)) return []
      const lo = count === 0 ? 0 : (places[count - 1] as number) + 1
      return [{ met, lo, hi: places[count] ?? this.length }]
    })
  }

  /** Every list of tags that is a beginning for a reader which has met some of the harms. */
  isBeginning(tags: readonly string[]): boolean {
    return this.#views.some(({ places }) => tags.every((tag, index) => this.tagAt(places[index] ?? -1) === tag))
  }

  /**
   * Where a list of all messages, as a follower was shown them, is wrong. What a harm took may be in it or not. Positions in the list are followed side by
   * side: a message that was lost and appended again may be either of the two.
   */
  firstDifference(shown: readonly string[]): { readonly shown: string | undefined; readonly due: string | undefined } | undefined {
    let positions = new Set([0])
    for (const { tag, lostBy } of this.#items) {
      const next = new Set(lostBy < Number.POSITIVE_INFINITY ? positions : [])
      for (const position of positions) if (shown[position] === tag) next.add(position + 1)
      if (next.size === 0) return { shown: shown[Math.max(...positions)], due: tag }
      positions = next
    }
    return positions.has(shown.length) ? undefined : { shown: shown[Math.max(...positions)], due: undefined }
  }
}
