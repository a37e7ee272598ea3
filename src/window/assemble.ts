/**
 * The window: what is sent to a model, within a budget of tokens. The newest user's message is always in it; then, while they fit, the
 * instructions that the conversation begins with, the last overview, the newest units of the conversation, what was recalled, and
 * abstracts of older archives. If no user has spoken, the newest unit comes first, if it fits: instructions alone are no window. A tool call is never parted from its results; a missing result is made up here, for the provider's sake,
 * and nowhere else. It says what it left out.
 */
import { isSpoken } from './turns.ts'
import { type Dropped, type Item, type Shown, type Unit, unitsOf, withoutResults } from './units.ts'

/** An archive whose summary may stand for its messages. */
export interface Summary {
  readonly archive: number
  readonly abstract: string
}

export interface WindowInput {
  readonly budget: number
  /** What summaries do not cover, oldest first: messages of archives that have none, and live ones. */
  readonly items: readonly Item[]
  /** How many still older messages there are that were not even read. */
  readonly older?: number
  /** Of archives on the branch, oldest first. */
  readonly summaries: readonly Summary[]
  /** Of the last of them: it tells of all that came before it too. */
  readonly overview?: string | undefined
  /** What a query brought up, the best first. */
  readonly recalled: readonly Recalled[]
  readonly countTokens: (text: string) => number
}

export interface Recalled {
  readonly kind: 'memory' | 'message'
  readonly id: string
  readonly text: string
}

/** What is missing, and why. */
export type LeftOut =
  | Dropped
  | { readonly kind: 'message' | 'overview' | 'abstract' | 'recalled'; readonly id: string; readonly reason: 'budget' }
  /** One result of a message that is there. */
  | { readonly kind: 'result'; readonly id: string; readonly call: string; readonly reason: 'budget' }
  /** So many older ones, which nobody looked at. */
  | { readonly kind: 'messages'; readonly count: number; readonly reason: 'budget' }
  /** So many that cannot be read; null if their number is unknown. */
  | { readonly kind: 'messages'; readonly count: number | null; readonly reason: 'damaged' }
  /** The summary of an archive that cannot be read: its messages are there instead. */
  | { readonly kind: 'abstract'; readonly id: string; readonly reason: 'damaged' }

export interface Assembled {
  readonly overview: string | null
  readonly abstracts: readonly { readonly archive: number; readonly abstract: string }[]
  readonly recalled: readonly Recalled[]
  readonly messages: readonly Shown[]
  readonly tokens: number
  readonly messageTokens: number
  readonly leftOut: readonly LeftOut[]
}

/** What was recalled takes at most this share of the budget. */
const RECALL_SHARE = 0.2

export function assemble({ budget, items, older = 0, summaries, overview = '', recalled, countTokens }: WindowInput): Assembled {
  const { units, dropped } = unitsOf(items, countTokens)
  const leftOut: LeftOut[] = [...dropped]
  const kept = new Set<Unit>()
  let left = budget
  const keep = (unit: Unit): void => {
    kept.add(unit)
    left -= unit.tokens
  }

  const newest = items.findLast(({ view }) => isSpoken(view))
  const place = units.findLastIndex(({ messages }) => messages.some(({ id }) => id === newest?.id))
  const spoken = units[place]
  if (newest !== undefined && spoken !== undefined) {
    // What the user said together with results that do not fit is shown without them.
    const alone = spoken.tokens > left ? withoutResults(newest, countTokens) : undefined
    if (alone !== undefined) units.splice(place, 1, spoken, alone)
    keep(alone ?? spoken)
  } else {
    const last = units.at(-1)
    if (last !== undefined && last.tokens <= left) keep(last)
  }
  const [first] = units
  if (first !== undefined && isLeading(first) && kept.size > 0 && !kept.has(first) && first.tokens <= left) keep(first)

  const latest = summaries.at(-1)
  const overviewTokens = latest === undefined ? 0 : countTokens(overview)
  const withOverview = latest !== undefined && overviewTokens <= left
  if (withOverview) left -= overviewTokens
  else if (latest !== undefined) leftOut.push({ kind: 'overview', id: String(latest.archive), reason: 'budget' })

  // From the newest backwards, with no holes: a model must not take a gap for the conversation.
  for (const unit of units.toReversed()) {
    if (kept.has(unit)) continue
    if (unit.tokens > left) break
    keep(unit)
  }
  const messages = units.filter((unit) => kept.has(unit)).flatMap((unit) => unit.messages)
  const shown = new Set(messages.map(({ id }) => id))
  const missing = units.filter((unit) => !kept.has(unit)).flatMap((unit) => unit.messages)
  leftOut.push(...missingOf(missing, shown))
  if (older > 0) leftOut.push({ kind: 'messages', count: older, reason: 'budget' })

  const fitting = takeWhileFits(recalled, ({ text }) => countTokens(text), Math.min(left, Math.floor(budget * RECALL_SHARE)))
  left -= fitting.tokens
  leftOut.push(...fitting.rest.map(({ id }) => ({ kind: 'recalled', id, reason: 'budget' }) as const))

  const earlier = takeWhileFits(summaries.slice(0, -1).reverse(), ({ abstract }) => countTokens(abstract), left)
  left -= earlier.tokens
  leftOut.push(...earlier.rest.map(({ archive }) => ({ kind: 'abstract', id: String(archive), reason: 'budget' }) as const))

  return {
    overview: withOverview ? overview : null,
    abstracts: earlier.taken.map(({ archive, abstract }) => ({ archive, abstract })).reverse(),
    recalled: fitting.taken,
    messages,
    tokens: budget - left,
    messageTokens: [...kept].reduce((sum, { tokens }) => sum + tokens, 0),
    // With a message, its results are gone as well.
    leftOut: leftOut.filter((one) => one.kind !== 'result' || shown.has(one.id)),
  }
}

/** Instructions that a conversation begins with hold for all of it. */
function isLeading({ messages: [first] }: Unit): boolean {
  return first?.view.role === 'system'
}

/** Of messages that were divided and are shown in part, the results; of the others, the messages themselves, each once. */
function missingOf(messages: readonly Shown[], shown: ReadonlySet<string>): LeftOut[] {
  const own = messages.filter(({ synthetic }) => !synthetic)
  const whole = new Set(own.map(({ id }) => id).filter((id) => !shown.has(id)))
  const results = own.filter(({ id }) => shown.has(id)).flatMap(({ id, view }) => view.results.map((result) => ({ id, call: result.id })))
  return [
    ...[...whole].map((id) => ({ kind: 'message', id, reason: 'budget' }) as const),
    ...results.map(({ id, call }) => ({ kind: 'result', id, call, reason: 'budget' }) as const),
  ]
}

function takeWhileFits<T>(items: readonly T[], cost: (item: T) => number, budget: number): { taken: T[]; rest: T[]; tokens: number } {
  const taken: T[] = []
  let tokens = 0
  for (const item of items) {
    const price = cost(item)
    if (tokens + price > budget) break
    taken.push(item)
    tokens += price
  }
  return { taken, rest: items.slice(taken.length), tokens }
}
