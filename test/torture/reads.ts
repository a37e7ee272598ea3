/** How far each reader of a session has seen it, and how far it should have. */
import { type Case, isHidden, isUnsure, nameOf, of } from './case.ts'
import type { Reach } from './harms.ts'
import type { Call, Extent } from './history.ts'

/** How much of the one order was known to be there, by when. */
interface Known {
  readonly at: number
  readonly lo: number
  readonly by: Call
}

export interface Read {
  readonly call: Call
  readonly extent: Extent
  /** How far it may have seen, by the harms that it may have met: none if it saw an order that there never was. */
  readonly reaches: readonly Reach[]
  /** The first of those that has everything that was known before. */
  readonly reach: Reach | undefined
  /** What was known before it began. */
  readonly known: Known | undefined
}

/**
 * Every read has everything that any client was told or shown before it began, but for what harms took that it met. A list has what was acknowledged, or listed, before it
 * began: what a client has read of a call that is not answered yet need not have been announced.
 */
export function readsOf({ session, calls, order, harms }: Case): Read[] {
  const acknowledged = of(calls, 'append', 'import').flatMap((call): Known[] => {
    if (call.told !== 'ok') return []
    return [{ at: call.ended, lo: Math.max(...call.tags.map((tag) => order.placeOf(tag) ?? -1)) + 1, by: call }]
  })
  const looks = calls
    .filter((call) => !isUnsure(call, harms) && !isBlind(call, harms.at(0)?.from))
    .flatMap((call) => {
      const own = (call.seen ?? []).filter((extent) => extent.session === session && !isHidden(call, extent, harms))
      return own.map((extent) => lookOf(call, extent, order))
    })
  const [lists, others] = [looks.filter(({ call }) => call.kind === 'list'), looks.filter(({ call }) => call.kind !== 'list')]
  return [...judged(others, [...acknowledged, ...looks.flatMap(knownBy)]), ...judged(lists, [...acknowledged, ...lists.flatMap(knownBy)])]
}

/** A copy has no watermarks of its own, so nothing tells there that its original was harmed before. */
function isBlind({ kind, ended }: Call, harmed: number | undefined): boolean {
  return kind === 'copy' && harmed !== undefined && harmed < ended
}

type Look = Pick<Read, 'call' | 'extent' | 'reaches'>

function lookOf(call: Call, extent: Extent, order: Case['order']): Look {
  return { call, extent, reaches: order.reachesOf(extent.count, extent.digest, call.ended) }
}

function knownBy({ call, reaches }: Look): Known[] {
  return reaches.length === 0 ? [] : [{ at: call.ended, lo: Math.min(...reaches.map(({ lo }) => lo)), by: call }]
}

function judged(looks: readonly Look[], all: readonly Known[]): Read[] {
  const sorted = [...all].sort((a, b) => a.at - b.at)
  let next = 0
  let known: Known | undefined
  return [...looks]
    .sort((a, b) => a.call.begun - b.call.begun)
    .map((look) => {
      for (; (sorted[next]?.at ?? Number.POSITIVE_INFINITY) < look.call.begun; next++) {
        if (known === undefined || (sorted[next] as Known).lo > known.lo) known = sorted[next]
      }
      return { ...look, known, reach: look.reaches.find(({ hi }) => known === undefined || hi >= known.lo) }
    })
}

/** Every read is a beginning of the one order, or of what harms have left of it; nothing in it was appended after it. */
export function* readsNeverGoBack(one: Case): Generator<string> {
  const { calls, final, order } = one
  if (final.status !== 'ok') return
  // Several may import the same: the first of them.
  const begun = new Map<string, Call>()
  for (const call of of(calls, 'append', 'import')) for (const tag of call.tags) if (!begun.has(tag)) begun.set(tag, call)
  for (const { call, extent, reaches, reach, known } of readsOf(one)) {
    if (reaches.length === 0) yield `${nameOf(call)} saw ${extent.count} messages that are another beginning than there is now`
    else if (reach === undefined && known !== undefined)
      yield `${nameOf(call)} saw ${extent.count} messages, although ${nameOf(known.by)} had been told of ${known.lo} before`
    const last = begun.get(order.tagAt((reach?.lo ?? 0) - 1) ?? '')
    if (last !== undefined && last.begun > call.ended) yield `${nameOf(call)} saw what ${nameOf(last)} had not begun to append`
  }
}
