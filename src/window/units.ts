/**
 * Units: the least that may be shown or left out. A unit is a message alone, or messages with tool calls together with all their results.
 * What a provider would refuse is put right here, for the window alone: a result without its call is taken out, by itself; a call
 * without a result gets one that says so.
 *
 * Messages that are parts of one answer belong together as well: reasoning and what came of it, and calls that were made at once but
 * written down one by one, as Responses items and the logs of Anthropic's clients are. In other shapes two messages with calls in a row are
 * two answers, the first of which was never served.
 */
import type { MessageView, ToolCall } from '../message/message.ts'
import { viewOf } from '../message/message.ts'
import { answered, withResults } from '../message/repair.ts'
import type { JsonObject } from '../record/record.ts'

/** A message that may become part of a window. */
export interface Item {
  readonly id: string
  readonly message: JsonObject
  readonly view: MessageView
  readonly tokens: number
  /** When it was appended. */
  readonly at?: string
}

/** A message of a window; a synthetic one was never appended. */
export interface Shown extends Item {
  readonly synthetic: boolean
}

export interface Unit {
  readonly messages: readonly Shown[]
  readonly tokens: number
}

/**
 * A message that cannot stand in a conversation, or one of the results in it, by the id of the call. `orphan`: a result without its call,
 * or reasoning that came to nothing. `repeated`: a second result. `no role`: nobody knows whose it is.
 */
export type Dropped =
  | { readonly kind: 'message'; readonly id: string; readonly reason: 'orphan' | 'repeated' | 'no role' }
  | { readonly kind: 'result'; readonly id: string; readonly call: string; readonly reason: 'orphan' | 'repeated' }

export const NO_RESULT = '[No result was recorded for this call.]'

/** Groups messages into units, in order. What cannot stand in a conversation is dropped, one by one, and told. */
export function unitsOf(items: readonly Item[], countTokens: (text: string) => number): { units: Unit[]; dropped: Dropped[] } {
  const grouping = new Grouping(countTokens)
  for (const item of items) grouping.add(item)
  return grouping.finish()
}

/** What is said in a message, without the results that it brings; undefined if its shape cannot be divided. */
export function withoutResults({ id, message }: Item, countTokens: (text: string) => number): Unit | undefined {
  const rest = withResults(message, new Set(), true)
  if (rest === undefined) return undefined
  const alone = { ...shown(id, rest, countTokens), synthetic: false }
  return { messages: [alone], tokens: alone.tokens }
}

interface Group {
  /** What makes the calls; they are answered behind the last of these. */
  readonly lead: Item[]
  readonly results: Item[]
  readonly open: Map<string, ToolCall>
}

class Grouping {
  readonly #groups: Group[] = []
  /** Ids may come again in a later turn: the newest call is meant. */
  readonly #byCall = new Map<string, Group>()
  readonly #dropped: Dropped[] = []
  readonly #countTokens: (text: string) => number
  /** The group that the message before led, if the next one may belong to it. */
  #unfinished: Group | undefined

  constructor(countTokens: (text: string) => number) {
    this.#countTokens = countTokens
  }

  add(item: Item): void {
    const { role, calls, results } = item.view
    if (role === undefined) {
      this.#dropped.push({ kind: 'message', id: item.id, reason: 'no role' })
      return
    }
    const own = new Set(calls.map(({ id }) => id))
    const foreign = results.map(({ id }) => id).filter((id) => !own.has(id))
    if (foreign.length > 0 || role === 'tool') this.#answer(item, foreign)
    else this.#lead(item)
  }

  finish(): { units: Unit[]; dropped: Dropped[] } {
    const units = this.#groups.flatMap((group) => {
      if (!group.lead.every(({ message }) => message.type === 'reasoning')) return [this.#unit(group)]
      for (const { id } of group.lead) this.#dropped.push({ kind: 'message', id, reason: 'orphan' })
      return []
    })
    return { units, dropped: this.#dropped }
  }

  #lead(item: Item): void {
    const { role, calls, results } = item.view
    const joins = this.#unfinished !== undefined && role === 'assistant' && (isThought(this.#unfinished) || isPart(item, this.#unfinished))
    const group: Group = joins ? (this.#unfinished as Group) : { lead: [], results: [], open: new Map() }
    if (!joins) this.#groups.push(group)
    group.lead.push(item)
    const served = new Set(results.map(({ id }) => id))
    for (const call of calls) {
      this.#byCall.set(call.id, group)
      if (!served.has(call.id)) group.open.set(call.id, call)
    }
    this.#unfinished = group.open.size > 0 || isThought(group) ? group : undefined
  }

  /**
   * Gives results to the groups that wait for them. A message whose results belong to several is divided. What the user says beside
   * results stays with them where that is its place; if they came late, so that something was said meanwhile, it stands alone.
   */
  #answer(item: Item, ids: readonly string[]): void {
    this.#unfinished = undefined
    // What makes calls itself cannot stand behind those of others.
    const waiting = item.view.calls.length > 0 ? [] : ids.filter((id) => this.#byCall.get(id)?.open.has(id))
    const groups = [...new Set(waiting.map((id) => this.#byCall.get(id) as Group))]
    const served = new Set(waiting)
    const useless = ids.filter((id) => !served.has(id))
    const last = groups.at(-1)
    const inPlace = item.view.role === 'tool' || last === this.#groups.at(-1)
    if (last === undefined) this.#withoutResults(item, useless)
    else if (groups.length === 1 && useless.length === 0 && inPlace) this.#serve(last, item, waiting)
    else {
      this.#dropResults(item, useless)
      for (const group of groups) {
        const mine = waiting.filter((id) => this.#byCall.get(id) === group)
        const part = withResults(item.message, new Set(mine), group === last && inPlace)
        if (part !== undefined) this.#serve(group, shown(item.id, part, this.#countTokens), mine)
      }
      const rest = inPlace ? undefined : withResults(item.message, new Set(), true)
      if (rest !== undefined) this.#lead(shown(item.id, rest, this.#countTokens))
    }
  }

  /** What else the message says stays. */
  #withoutResults(item: Item, ids: readonly string[]): void {
    const message = withResults(item.message, new Set(item.view.calls.map(({ id }) => id)), true)
    const rest = message === undefined ? undefined : shown(item.id, message, this.#countTokens)
    if (rest === undefined || rest.view.role === 'tool') {
      this.#dropped.push({ kind: 'message', id: item.id, reason: this.#reasonFor(ids[0]) })
    } else {
      this.#dropResults(item, ids)
      this.#lead(rest)
    }
  }

  #dropResults({ id }: Item, calls: readonly string[]): void {
    for (const call of calls) this.#dropped.push({ kind: 'result', id, call, reason: this.#reasonFor(call) })
  }

  #serve(group: Group, item: Item, ids: readonly string[]): void {
    group.results.push(item)
    for (const id of ids) group.open.delete(id)
  }

  #reasonFor(id: string | undefined): 'orphan' | 'repeated' {
    return id !== undefined && this.#byCall.has(id) ? 'repeated' : 'orphan'
  }

  #unit({ lead, results, open }: Group): Unit {
    const mended = lead.map((item) =>
      this.#answered(
        item,
        item.view.calls.filter((call) => open.get(call.id) === call),
      ),
    )
    const behind = mended.flatMap((one) => one.behind)
    const messages = [...mended.map(({ item }) => item), ...behind, ...results.map((item) => ({ ...item, synthetic: false }))]
    return { messages, tokens: messages.reduce((sum, { tokens }) => sum + tokens, 0) }
  }

  #answered(item: Item, open: readonly ToolCall[]): { item: Shown; behind: Shown[] } {
    if (open.length === 0) return { item: { ...item, synthetic: false }, behind: [] }
    const { message, behind } = answered(item.message, open, NO_RESULT)
    const same = message === item.message
    return {
      item: { ...(same ? item : shown(item.id, message, this.#countTokens)), synthetic: false },
      behind: behind.map((one, index) => ({ ...shown(`${item.id}:${open[index]?.id ?? ''}`, one, this.#countTokens), synthetic: true })),
    }
  }
}

function shown(id: string, message: JsonObject, countTokens: (text: string) => number): Item {
  return { id, message, view: viewOf(message), tokens: countTokens(JSON.stringify(message)) }
}

/** Nothing but reasoning so far: what came of it follows. Reasoning may be encrypted, so that nothing can be read of it. */
function isThought({ lead }: Group): boolean {
  return lead.every(
    ({ message, view }) => message.type === 'reasoning' || (view.reasoning !== '' && view.text === '' && view.calls.length === 0),
  )
}

/** One more call of an answer that is written down in parts. */
function isPart({ message, view }: Item, { open }: Group): boolean {
  if (view.calls.length === 0 || open.size === 0) return false
  const parts = Array.isArray(message.content) ? (message.content as (JsonObject | null)[]) : []
  return message.role === undefined || parts.some((part) => part?.type === 'tool_use')
}
