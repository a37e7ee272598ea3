/** Turns: a turn is a message of the user, the steps of the assistant that answer it, and the results of its tools. */
import type { MessageView } from '../message/message.ts'

/** Whether the user speaks in it: a message that only brings the results of tools in his name is a tool's. */
export function isSpoken({ role }: MessageView): boolean {
  return role === 'user'
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
export function lastTurn(items: readonly { readonly id: string; readonly view: MessageView }[]): Turn {
  const start = items.findLastIndex(({ view }) => isSpoken(view))
  const turn = items.slice(Math.max(0, start))
  const last = turn.findLast(({ view }) => view.role !== undefined && view.role !== 'system')
  if (last === undefined) return { status: 'empty', messages: [], openCalls: [] }
  const openCalls = openIn(turn)
  const messages = turn.map(({ id }) => id)
  if (openCalls.length > 0) return { status: 'interrupted', messages, openCalls }
  if (isSpoken(last.view)) return { status: 'unanswered', messages, openCalls }
  return { status: isAnswer(last.view) ? 'complete' : 'interrupted', messages, openCalls }
}

/** Calls are compared one by one as they come, since an id may come again. */
function openIn(turn: readonly { readonly id: string; readonly view: MessageView }[]): Turn['openCalls'] {
  const open = new Map<string, Turn['openCalls'][number]>()
  for (const { id: message, view } of turn) {
    for (const { id, name } of view.calls) open.set(id, { id, name, message })
    for (const { id } of view.results) open.delete(id)
  }
  return [...open.values()]
}

/** Something is said, and no result stands behind it that nobody has looked at. */
function isAnswer({ role, text, closing, results, media }: MessageView): boolean {
  if (role === 'tool') return false
  return results.length > 0 ? closing !== '' : text !== '' || media.length > 0
}
