/**
 * The window: what is sent to a model, within a budget of tokens. The newest user's message is always in it; then, while they fit, the last
 * overview, the newest units of the conversation, what was recalled, and abstracts of older archives. A tool call is never parted from
 * its results; a missing result is made up here, for the provider's sake, and nowhere else. It says what it left out.
 */
import type { MessageView } from '../dialect/message.ts'
import type { JsonObject } from '../record/record.ts'
import { type Item, type Unit, unitsOf } from './turns.ts'

export interface WindowItem extends Item {
  readonly message: JsonObject
}

/** An archive whose summary may stand for its messages. */
export interface Summary {
  readonly archive: number
  readonly abstract: string
  readonly overview: string
}

export interface WindowInput {
  readonly budget: number
  /** What summaries do not cover, oldest first: messages of archives that have none, and live ones. */
  readonly items: readonly WindowItem[]
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

export interface LeftOut {
  readonly kind: 'message' | 'overview' | 'abstract' | 'recalled'
  readonly id: string
  readonly reason: 'budget' | 'orphan' | 'repeated' | 'no role'
}

export interface Assembled {
  readonly overview: string | null
  readonly abstracts: readonly { readonly archive: number; readonly abstract: string }[]
  readonly recalled: readonly Recalled[]
  readonly messages: readonly {
    readonly id: string
    readonly message: JsonObject
    readonly view: MessageView
    readonly synthetic: boolean
  }[]
  readonly tokens: number
  readonly messageTokens: number
  readonly leftOut: readonly LeftOut[]
}

/** What was recalled takes at most this share of the budget. */
const RECALL_SHARE = 0.2
const NO_RESULT = '[No result was recorded for this call.]'

export function assemble({ budget, items, summaries, recalled, countTokens }: WindowInput): Assembled {
  const { units, dropped } = unitsOf(items)
  const leftOut: LeftOut[] = dropped.map(({ id, reason }) => ({ kind: 'message', id, reason }))
  const kept = new Set<Unit<WindowItem>>()
  let left = budget
  const keep = (unit: Unit<WindowItem>): void => {
    kept.add(unit)
    left -= unit.tokens
  }

  const newestUser = units.findLast(({ items: [first] }) => first?.view.role === 'user')
  if (newestUser !== undefined) keep(newestUser)

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
    if (!kept.has(unit)) leftOut.push(...unit.items.map(({ id }) => ({ kind: 'message', id, reason: 'budget' }) as const))

  const remembered = takeWhileFits(recalled, ({ text }) => countTokens(text), Math.min(left, Math.floor(budget * RECALL_SHARE)))
  left -= remembered.tokens
  leftOut.push(...remembered.rest.map(({ id }) => ({ kind: 'recalled', id, reason: 'budget' }) as const))

  const older = takeWhileFits(summaries.slice(0, -1).reverse(), ({ abstract }) => countTokens(abstract), left)
  left -= older.tokens
  leftOut.push(...older.rest.map(({ archive }) => ({ kind: 'abstract', id: String(archive), reason: 'budget' }) as const))

  const messages = units.filter((unit) => kept.has(unit)).flatMap(messagesOf)
  return {
    overview: withOverview ? latest.overview : null,
    abstracts: older.taken.map(({ archive, abstract }) => ({ archive, abstract })).reverse(),
    recalled: remembered.taken,
    messages,
    tokens: budget - left,
    messageTokens: [...kept].reduce((sum, { tokens }) => sum + tokens, 0),
    leftOut,
  }
}

/** A unit as messages; calls that nobody answered get a result, for providers refuse a call without one. */
function messagesOf({ items, open }: Unit<WindowItem>): Assembled['messages'] {
  const messages = items.map(({ id, message, view }) => ({ id, message, view, synthetic: false }))
  return [
    ...messages,
    ...open.map((call) => {
      const view: MessageView = {
        role: 'tool',
        text: '',
        reasoning: '',
        calls: [],
        results: [{ id: call, name: null, output: NO_RESULT, failed: true }],
        media: [],
      }
      return { id: `${items[0]?.id ?? ''}:${call}`, message: synthetic(items[0]?.message ?? {}, call), view, synthetic: true }
    }),
  ]
}

/** In the shape of the message that made the call, as far as it can be told. */
function synthetic(message: JsonObject, call: string): JsonObject {
  if (message.type === 'function_call') return { type: 'function_call_output', call_id: call, output: NO_RESULT }
  const parts = Array.isArray(message.content) ? (message.content as JsonObject[]) : []
  if (parts.some((part) => part?.type === 'tool_use')) {
    return { role: 'user', content: [{ type: 'tool_result', tool_use_id: call, content: NO_RESULT, is_error: true }] }
  }
  const toolCall = parts.find((part) => part?.type === 'tool-call')
  if (toolCall !== undefined) {
    const output = { type: 'error-text', value: NO_RESULT }
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId: call, toolName: toolCall.toolName ?? 'tool', output }] }
  }
  return { role: 'tool', tool_call_id: call, content: NO_RESULT }
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
