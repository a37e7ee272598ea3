/**
 * Messages in the shape of their writer, changed where a provider would refuse them: for the window alone, never for what is kept. A result
 * without its call is taken out of the message that holds it; a call without a result gets one, in the message itself where the shape
 * has both in one part, and otherwise in a message behind it.
 */
import type { Json, JsonObject } from '../record/record.ts'
import type { ToolCall } from './message.ts'

/**
 * A message with those of its results that answer some calls and, if `rest`, with everything else that it says. Undefined if nothing is
 * left, or if its shape has the result as its only content.
 */
export function withResults(message: JsonObject, ids: ReadonlySet<string>, rest: boolean): JsonObject | undefined {
  if (!Array.isArray(message.content)) return undefined
  const content = (message.content as Json[]).filter((part) => {
    const id = resultId(part)
    return id === undefined ? rest : ids.has(id)
  })
  return content.length === 0 ? undefined : { ...message, content }
}

/** The call that a part answers; undefined if it is no result, or one that belongs to a call in the same part. */
function resultId(part: Json): string | undefined {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined
  const { type, tool_use_id: anthropic, toolCallId: sdk } = part as JsonObject
  const id = type === 'tool-result' ? sdk : typeof type === 'string' && type.endsWith('tool_result') ? anthropic : undefined
  return typeof id === 'string' ? id : undefined
}

/** A message that makes calls which nobody answered, and what has to follow it so that each of them has a result. */
export function answered(message: JsonObject, open: readonly ToolCall[], output: string): { message: JsonObject; behind: JsonObject[] } {
  const ids = new Set(open.map(({ id }) => id))
  const inside = answeredInside(message, ids, output)
  return inside === undefined ? { message, behind: answersTo(message, open, output) } : { message: inside, behind: [] }
}

/** UI messages of the AI SDK, and tool parts as OpenViking's clients send them, hold a call and its result in one part. */
function answeredInside(message: JsonObject, ids: ReadonlySet<string>, output: string): JsonObject | undefined {
  const field = Array.isArray(message.parts) ? 'parts' : 'content'
  const parts = message[field]
  if (!Array.isArray(parts)) return undefined
  let changed = false
  const mended = (parts as Json[]).map((part) => {
    const { type, toolCallId, tool_id: vikingId, toolInvocation } = (part ?? {}) as JsonObject
    const invocation = (toolInvocation ?? {}) as JsonObject
    const ends = endOf(type, { sdk: toolCallId, viking: vikingId, invocation: invocation.toolCallId }, ids, output)
    if (ends === undefined) return part
    changed = true
    return type === 'tool-invocation'
      ? { ...(part as JsonObject), toolInvocation: { ...invocation, ...ends } }
      : { ...(part as JsonObject), ...ends }
  })
  return changed ? { ...message, [field]: mended } : undefined
}

/** What a part of this type needs in order to have failed; undefined if it is none of the calls, or has its result elsewhere. */
function endOf(
  type: Json | undefined,
  { sdk, viking, invocation }: { [kind in 'sdk' | 'viking' | 'invocation']: Json | undefined },
  ids: ReadonlySet<string>,
  output: string,
): JsonObject | undefined {
  if (typeof type !== 'string' || type === 'tool-call' || type === 'tool-result') return undefined
  const isOpen = (id: Json | undefined): boolean => typeof id === 'string' && ids.has(id)
  if (type === 'tool') return isOpen(viking) ? { tool_status: 'error', tool_output: output } : undefined
  if (type === 'tool-invocation') return isOpen(invocation) ? { state: 'result', result: output } : undefined
  if (type !== 'dynamic-tool' && !type.startsWith('tool-')) return undefined
  return isOpen(sdk) ? { state: 'output-error', errorText: output } : undefined
}

function answersTo(message: JsonObject, open: readonly ToolCall[], output: string): JsonObject[] {
  if (message.type === 'function_call' || message.type === 'custom_tool_call') {
    return open.map(({ id }) => ({ type: `${message.type as string}_output`, call_id: id, output }))
  }
  const parts = Array.isArray(message.content) ? (message.content as (JsonObject | null)[]) : []
  if (parts.some((part) => typeof part?.type === 'string' && part.type.endsWith('tool_use'))) {
    return [{ role: 'user', content: open.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: output, is_error: true })) }]
  }
  if (parts.some((part) => part?.type === 'tool-call')) {
    const value = { type: 'error-text', value: output }
    return [{ role: 'tool', content: open.map(({ id, name }) => ({ type: 'tool-result', toolCallId: id, toolName: name, output: value })) }]
  }
  return open.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: output }))
}
