/** What providers demand of messages, as checks that throw. They know nothing of Holdfast: they read what would be sent. */
import type { JsonObject } from '../../src/record/record.ts'

type Part = { readonly type: string; readonly [field: string]: unknown }
type Message = {
  readonly role: string
  readonly content: unknown
  readonly tool_calls?: readonly { id: string }[]
  readonly tool_call_id?: string
}

function demand(condition: boolean, what: string, at: number): void {
  if (!condition) throw new Error(`message ${at}: ${what}`)
}

/** Calls that wait for their results: each id once, all answered before anything else is said. */
class Waiting {
  #ids = new Set<string>()

  call(ids: readonly string[], at: number): void {
    demand(new Set(ids).size === ids.length, 'an id is called twice', at)
    this.#ids = new Set(ids)
  }

  answer(id: string, at: number): void {
    demand(this.#ids.delete(id), `a result for ${id}, which nobody waits for`, at)
  }

  mustBeOver(at: number): void {
    demand(this.#ids.size === 0, `${[...this.#ids].join(', ')} has no result`, at)
  }
}

export function acceptedByOpenAi(messages: readonly JsonObject[]): void {
  const waiting = new Waiting()
  messages.forEach((one, at) => {
    const { role, content, tool_calls: calls, tool_call_id: id } = one as unknown as Message
    if (role === 'tool') {
      waiting.answer(id as string, at)
      demand(typeof content === 'string', 'a result is a text', at)
      return
    }
    waiting.mustBeOver(at)
    demand(['system', 'user', 'assistant'].includes(role), `the role ${role}`, at)
    if (calls !== undefined) {
      demand(role === 'assistant' && calls.length > 0, "calls are the assistant's, and not none", at)
      waiting.call(
        calls.map((call) => call.id),
        at,
      )
    }
    demand(typeof content === 'string' || (content === null && calls !== undefined), 'there is no content', at)
  })
  waiting.mustBeOver(messages.length)
}

/** Neighbours of one role are one turn for Anthropic. */
export function merged(messages: readonly JsonObject[]): JsonObject[] {
  const turns: { role: string; content: Part[] }[] = []
  for (const { role, content } of messages as unknown as Message[]) {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : [...(content as Part[])]
    if (turns.at(-1)?.role === role) turns.at(-1)?.content.push(...parts)
    else turns.push({ role, content: parts })
  }
  return turns as unknown as JsonObject[]
}

export function acceptedByAnthropic(messages: readonly JsonObject[], { anyStart = false } = {}): void {
  const waiting = new Waiting()
  messages.forEach((one, at) => {
    const { role, content } = one as unknown as { role: string; content: Part[] }
    demand(at > 0 || anyStart || role === 'user', "the first message is not the user's", at)
    demand(at === 0 || (messages[at - 1] as JsonObject).role !== role, 'roles do not alternate', at)
    demand(content.length > 0, 'there is no content', at)
    for (const part of content) demand(part.type !== 'text' || (part.text as string).trim() !== '', 'a text is blank', at)
    if (role === 'assistant') {
      waiting.mustBeOver(at)
      const calls = content.filter(({ type }) => type === 'tool_use')
      waiting.call(
        calls.map(({ id }) => id as string),
        at,
      )
      for (const { id, input } of calls) {
        demand(/^[a-zA-Z0-9_-]+$/.test(id as string), `the id ${String(id)}`, at)
        demand(typeof input === 'object' && input !== null && !Array.isArray(input), 'an input is no object', at)
      }
      return
    }
    const results = content.filter(({ type }) => type === 'tool_result')
    for (const { tool_use_id: id } of results) waiting.answer(id as string, at)
    demand(
      content.slice(0, results.length).every(({ type }) => type === 'tool_result'),
      'results do not come first',
      at,
    )
    waiting.mustBeOver(at)
  })
  waiting.mustBeOver(messages.length)
}

export function acceptedByResponses(items: readonly JsonObject[]): void {
  const called = new Set<string>()
  const open = new Set<string>()
  items.forEach((item, at) => {
    const id = item.call_id as string
    if (item.type === 'function_call') {
      demand(typeof item.arguments === 'string', 'arguments are no text', at)
      called.add(id)
      open.add(id)
    } else if (item.type === 'function_call_output') {
      demand(open.delete(id), `an output for ${id}, which nobody waits for`, at)
      demand(typeof item.output === 'string', 'an output is no text', at)
    } else if (item.type === 'reasoning') {
      const next = items[at + 1]
      demand(
        next?.type === 'function_call' || next?.type === 'reasoning' || next?.role === 'assistant',
        'reasoning that came to nothing',
        at,
      )
    } else {
      demand(item.type === 'message' || item.type === undefined, `the type ${String(item.type)}`, at)
      demand(['system', 'user', 'assistant'].includes(item.role as string), `the role ${String(item.role)}`, at)
    }
  })
  demand(open.size === 0, `${[...open].join(', ')} has no output`, items.length)
}

export function acceptedByAiSdk(messages: readonly JsonObject[]): void {
  const waiting = new Waiting()
  const names = new Map<string, string>()
  messages.forEach((one, at) => {
    const { role, content } = one as unknown as Message
    const parts = Array.isArray(content) ? (content as Part[]) : []
    if (role === 'tool') {
      for (const { type, toolCallId, toolName, output } of parts) {
        demand(type === 'tool-result', `the type ${type}`, at)
        waiting.answer(toolCallId as string, at)
        demand(names.get(toolCallId as string) === toolName, `${String(toolName)} is not the name of the call`, at)
        demand(['text', 'json', 'error-text', 'error-json', 'content'].includes((output as Part).type), 'the output has no type', at)
      }
      return
    }
    waiting.mustBeOver(at)
    demand(['system', 'user', 'assistant'].includes(role), `the role ${role}`, at)
    const calls = parts.filter(({ type }) => type === 'tool-call')
    for (const { toolCallId, toolName } of calls) names.set(toolCallId as string, toolName as string)
    waiting.call(
      calls.map(({ toolCallId }) => toolCallId as string),
      at,
    )
  })
  waiting.mustBeOver(messages.length)
}

/** The AI SDK turns UI messages into model messages, which needs every call to have ended. */
export function acceptedAsUi(messages: readonly JsonObject[]): void {
  messages.forEach(({ parts }, at) => {
    for (const { type, state } of (parts ?? []) as Part[]) {
      demand(!type.startsWith('tool-') || (state as string).startsWith('output-'), `a call in the state ${String(state)}`, at)
    }
  })
}
