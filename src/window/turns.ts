/**
 * Turns and units. A turn is a message of the user, the steps of the assistant that answer it, and the results of its tools. A unit is the
 * least that may be shown or left out: a message alone, or a message with tool calls together with all their results.
 */
import type { MessageView } from '../dialect/message.ts'

/** A message that may become part of a window. */
export interface Item {
  readonly id: string
  readonly view: MessageView
  readonly tokens: number
}

export interface Unit<T extends Item> {
  readonly items: readonly T[]
  readonly tokens: number
  /** Calls in it that nobody answered. */
  readonly open: readonly string[]
}

export interface Dropped {
  readonly id: string
  /** `orphan`: a result without its call. `repeated`: a second result. `no role`: nobody knows whose it is. */
  readonly reason: 'orphan' | 'repeated' | 'no role'
}

/** Groups messages into units, in order. What cannot stand in a conversation is dropped, one by one, and told. */
export function unitsOf<T extends Item>(items: readonly T[]): { units: Unit<T>[]; dropped: Dropped[] } {
  const dropped: Dropped[] = []
  const groups: { items: T[]; open: Set<string> }[] = []
  const byCall = new Map<string, { items: T[]; open: Set<string> }>()
  const answered = new Set<string>()
  for (const item of items) {
    const { role, calls, results } = item.view
    const outside = results.filter(({ id }) => !calls.some((call) => call.id === id))
    if (role === undefined) dropped.push({ id: item.id, reason: 'no role' })
    else if (role === 'tool' || (outside.length > 0 && calls.length === 0)) {
      const group = outside.map(({ id }) => byCall.get(id)).find((one) => one !== undefined)
      const fresh = outside.filter(({ id }) => byCall.has(id) && !answered.has(id))
      if (group === undefined) dropped.push({ id: item.id, reason: 'orphan' })
      else if (fresh.length === 0) dropped.push({ id: item.id, reason: 'repeated' })
      else {
        group.items.push(item)
        for (const { id } of fresh) {
          answered.add(id)
          byCall.get(id)?.open.delete(id)
        }
      }
    } else {
      const group = { items: [item], open: new Set(calls.map(({ id }) => id)) }
      for (const { id } of calls) byCall.set(id, group)
      for (const { id } of results) {
        answered.add(id)
        group.open.delete(id)
      }
      groups.push(group)
    }
  }
  const units = groups.map((group) => ({
    items: group.items,
    tokens: group.items.reduce((sum, { tokens }) => sum + tokens, 0),
    open: [...group.open],
  }))
  return { units, dropped }
}

/** Where turns begin: the indexes of messages in which the user speaks. */
function turnStarts(views: readonly MessageView[]): number[] {
  return views.flatMap((view, index) => (view.role === 'user' && view.results.length === 0 ? [index] : []))
}

export interface Turn {
  /** `empty`: nobody has said anything. `unanswered`: the user waits. `interrupted`: calls without results, or results without an answer. */
  readonly status: 'empty' | 'complete' | 'unanswered' | 'interrupted'
  /** The messages of the last turn. */
  readonly messages: readonly string[]
  /** Calls that nobody answered. */
  readonly openCalls: readonly { readonly id: string; readonly name: string; readonly message: string }[]
}

/** How far the last turn came. */
export function lastTurn(items: readonly Item[]): Turn {
  const start = turnStarts(items.map(({ view }) => view)).at(-1) ?? 0
  const turn = items.slice(start)
  const last = turn.at(-1)
  if (last === undefined) return { status: 'empty', messages: [], openCalls: [] }
  const answered = new Set(turn.flatMap(({ view }) => view.results.map(({ id }) => id)))
  const openCalls = turn.flatMap(({ id: message, view }) =>
    view.calls.filter(({ id }) => !answered.has(id)).map(({ id, name }) => ({ id, name, message })),
  )
  const messages = turn.map(({ id }) => id)
  if (openCalls.length > 0) return { status: 'interrupted', messages, openCalls }
  if (last.view.role === 'user' && last.view.results.length === 0) return { status: 'unanswered', messages, openCalls }
  const waiting = last.view.role === 'tool' || (last.view.results.length > 0 && last.view.text === '')
  return { status: waiting ? 'interrupted' : 'complete', messages, openCalls }
}
