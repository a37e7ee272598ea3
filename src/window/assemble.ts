/**
 * The window: what is sent to a model, within a budget of tokens. The newest user's message is always in it; then, while they fit, the
 * instructions that the conversation begins with, the last overview, the newest units of the conversation, what was recalled, and
 * abstracts of older archives. A tool call is never parted from its results; a missing result is made up here, for the provider's sake,
 * and nowhere else. It says what it left out.
 */
import { isSpoken } from './turns.ts'
import { type Item, type Shown, spokenIn, type Unit, unitsOf } from './units.ts'

/** An archive whose summary may stand for its messages. */
export interface Summary {
  readonly archive: number
  readonly abstract: string
  readonly overview: string
}

export interface WindowInput {
  readonly budget: number
  /** What summaries do not cover, oldest first: messages of archives that have none, and live ones. */
  readonly items: readonly Item[]
  /** How many still older messages there are that were not even read. */
  readonly older?: number
  /** Of archives on the branch, oldest first. The last overview tells of all that came before it too. */
  readonly summaries: readonly Summary[]
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
export interface LeftOut {
  /**
   * `result`: one result of a message that is there; its id is that of the message, a colon and that of the call. `messages`: so many
   * older ones, as its id says, which nobody looked at.
   */
  readonly kind: 'message' | 'messages' | 'result' | 'overview' | 'abstract' | 'recalled'
  readonly id: string
  readonly reason: 'budget' | 'orphan' | 'repeated' | 'no role'
}

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

export function assemble({ budget, items, older = 0, summaries, recalled, countTokens }: WindowInput): Assembled {
  const { units, dropped } = unitsOf(items, countTokens)
  const leftOut: LeftOut[] = [...dropped]
  const kept = new Set<Unit>()
  let left = budget
  const keep = (unit: Unit): void => {
    kept.add(unit)
    left -= unit.tokens
  }

  const newestUser = units.findLastIndex(({ messages }) => messages.some(({ view }) => isSpoken(view)))
  if (newestUser !== -1) {
    const unit = units[newestUser] as Unit
    // What the user said together with results that do not fit is shown without them.
    const spoken = unit.tokens > left ? spokenIn(unit, countTokens) : undefined
    if (spoken !== undefined) {
      units[newestUser] = spoken
      leftOut.push(...lostBetween(unit, spoken))
    }
    keep(spoken ?? unit)
  }
  const [first] = units
  if (first !== undefined && isLeading(first) && !kept.has(first) && first.tokens <= left) keep(first)

  const latest = summaries.at(-1)
  const overviewTokens = latest === undefined ? 0 : countTokens(latest.overview)
  const withOverview = latest !== undefined && overviewTokens <= left
  if (withOverview) left -= overviewTokens
  else if (latest !== undefined) leftOut.push({ kind: 'overview', id: String(latest.archive), reason: 'budget' })

  // From the newest backwards, with no holes: a model must not take a gap for the conversation.
  for (const unit of units.toReversed()) {
    if (kept.has(unit)) continue
    if (unit.tokens > left) break
    keep(unit)
  }
  for (const unit of units)
    if (!kept.has(unit)) leftOut.push(...idsOf(unit).map((id) => ({ kind: 'message', id, reason: 'budget' }) as const))
  if (older > 0) leftOut.push({ kind: 'messages', id: String(older), reason: 'budget' })

  const remembered = takeWhileFits(recalled, ({ text }) => countTokens(text), Math.min(left, Math.floor(budget * RECALL_SHARE)))
  left -= remembered.tokens
  leftOut.push(...remembered.rest.map(({ id }) => ({ kind: 'recalled', id, reason: 'budget' }) as const))

  const earlier = takeWhileFits(summaries.slice(0, -1).reverse(), ({ abstract }) => countTokens(abstract), left)
  left -= earlier.tokens
  leftOut.push(...earlier.rest.map(({ archive }) => ({ kind: 'abstract', id: String(archive), reason: 'budget' }) as const))

  return {
    overview: withOverview ? latest.overview : null,
    abstracts: earlier.taken.map(({ archive, abstract }) => ({ archive, abstract })).reverse(),
    recalled: remembered.taken,
    messages: units.filter((unit) => kept.has(unit)).flatMap(({ messages }) => messages),
    tokens: budget - left,
    messageTokens: [...kept].reduce((sum, { tokens }) => sum + tokens, 0),
    leftOut,
  }
}

/** Instructions that a conversation begins with hold for all of it. */
function isLeading({ messages: [first] }: Unit): boolean {
  return first?.view.role === 'system'
}

function idsOf({ messages }: Unit): string[] {
  return messages.filter(({ synthetic }) => !synthetic).map(({ id }) => id)
}

/** What is missing if of a unit only what the user said is shown. */
function lostBetween(unit: Unit, spoken: Unit): LeftOut[] {
  const [said] = spoken.messages
  const results = unit.messages.find(({ id }) => id === said?.id)?.view.results ?? []
  const messages = idsOf(unit).filter((id) => id !== said?.id)
  return [
    ...messages.map((id) => ({ kind: 'message', id, reason: 'budget' }) as const),
    ...results.map(({ id }) => ({ kind: 'result', id: `${said?.id}:${id}`, reason: 'budget' }) as const),
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
