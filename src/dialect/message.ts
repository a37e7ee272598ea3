/**
 * What can be told of a message, whatever shape its writer uses. Messages are kept as they came; this is how the window, summaries and
 * search look at them. Known shapes: OpenAI chat and responses items, Anthropic, the AI SDK's UI and model messages, parts as
 * OpenViking's clients send them, and plain `role` with `content` or `text`. What is not known is passed over, never refused.
 */
import type { Json, JsonObject } from '../record/record.ts'

type Role = 'system' | 'user' | 'assistant' | 'tool'

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: Json
}

export interface ToolResult {
  /** Of the call that it answers. */
  readonly id: string
  readonly name: string | null
  readonly output: Json
  readonly failed: boolean
}

export interface MessageView {
  /** Undefined if the message does not say whose it is. */
  readonly role: Role | undefined
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly ToolCall[]
  readonly results: readonly ToolResult[]
  /** Addresses of images and files, or how many bytes they have if they are part of the message. */
  readonly media: readonly string[]
}

interface Draft {
  text: string[]
  reasoning: string[]
  calls: ToolCall[]
  results: ToolResult[]
  media: string[]
}

export function viewOf(message: JsonObject): MessageView {
  const draft: Draft = { text: [], reasoning: [], calls: [], results: [], media: [] }
  addMessage(draft, message)
  const text = draft.text.filter((part) => part !== '').join('\n')
  const reasoning = draft.reasoning.filter((part) => part !== '').join('\n')
  return { role: roleOf(message, draft), text, reasoning, calls: draft.calls, results: draft.results, media: draft.media }
}

export function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const ROLES: ReadonlyMap<string, Role> = new Map<string, Role>([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
  ['human', 'user'],
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['tool', 'tool'],
  ['function', 'tool'],
])

function roleOf(message: JsonObject, { calls, results, text }: Draft): Role | undefined {
  const named = typeof message.role === 'string' ? ROLES.get(message.role) : undefined
  // Anthropic sends results as the user's message, and the AI SDK's UI messages hold calls with their results.
  if (named === 'user' && results.length > 0 && text.length === 0) return 'tool'
  if (named !== undefined) return named
  if (calls.length > 0 || message.type === 'reasoning') return 'assistant'
  return results.length > 0 ? 'tool' : undefined
}

function addMessage(draft: Draft, message: JsonObject): void {
  if (message.type === 'function_call' || message.type === 'custom_tool_call') {
    addCall(draft, message.call_id ?? message.id, message.name, parsed(message.arguments ?? message.input))
  } else if (message.type === 'function_call_output' || message.type === 'custom_tool_call_output') {
    addResult(draft, { id: message.call_id, output: message.output })
  } else if (message.type === 'reasoning') {
    addReasoning(draft, message.summary)
    addReasoning(draft, message.content)
  } else if (message.role === 'tool' && typeof message.tool_call_id === 'string') {
    addResult(draft, { id: message.tool_call_id, name: message.name, output: message.content })
  } else {
    addContent(draft, message.content ?? message.parts ?? message.text)
    if (message.content !== undefined && Array.isArray(message.parts)) addContent(draft, message.parts)
    addReasoning(draft, message.reasoning_content ?? message.reasoning)
    for (const call of asObjects(message.tool_calls)) {
      const target = asObject(call.function) ?? call
      addCall(draft, call.id, target.name, parsed(target.arguments ?? target.args))
    }
  }
}

function addContent(draft: Draft, content: Json | undefined): void {
  if (typeof content === 'string') draft.text.push(content)
  else
    for (const part of Array.isArray(content) ? content : [])
      typeof part === 'string' ? draft.text.push(part) : addPart(draft, asObject(part) ?? {})
}

function addPart(draft: Draft, part: JsonObject): void {
  const type = typeof part.type === 'string' ? part.type : ''
  if (type === 'text' || type === 'input_text' || type === 'output_text' || type === 'refusal') {
    draft.text.push(asText(part.text ?? part.refusal))
  } else if (type === 'thinking' || type === 'reasoning') addReasoning(draft, part.thinking ?? part.text)
  else if (type === 'tool_use' || type === 'server_tool_use') addCall(draft, part.id, part.name, part.input)
  else if (type === 'tool_result') addResult(draft, { id: part.tool_use_id, output: flat(part.content), failed: part.is_error === true })
  else if (type === 'tool-call') addCall(draft, part.toolCallId, part.toolName, part.input ?? part.args)
  else if (type === 'tool-result') addResult(draft, { id: part.toolCallId, name: part.toolName, output: flat(part.output ?? part.result) })
  else if (type === 'dynamic-tool' || type.startsWith('tool-')) addToolPart(draft, part, part.toolName ?? type.slice('tool-'.length))
  else if (type === 'tool') addVikingTool(draft, part)
  else if (type === 'context') draft.text.push(asText(part.abstract ?? part.uri))
  else if (typeof part.text === 'string') draft.text.push(part.text)
  else if (type !== '') draft.media.push(mediaOf(part))
}

/** A call of the AI SDK's UI messages: one part, which gets its output when there is one. */
function addToolPart(draft: Draft, part: JsonObject, name: Json): void {
  addCall(draft, part.toolCallId, name, part.input)
  if (part.state === 'output-available') addResult(draft, { id: part.toolCallId, name, output: part.output })
  else if (part.state === 'output-error') addResult(draft, { id: part.toolCallId, name, output: part.errorText, failed: true })
}

function addVikingTool(draft: Draft, part: JsonObject): void {
  addCall(draft, part.tool_id, part.tool_name, part.tool_input)
  const done = part.tool_output !== undefined && part.tool_output !== null && part.tool_output !== ''
  if (done || part.tool_status === 'completed' || part.tool_status === 'error') {
    addResult(draft, { id: part.tool_id, name: part.tool_name, output: part.tool_output, failed: part.tool_status === 'error' })
  }
}

function addCall(draft: Draft, id: Json | undefined, name: Json | undefined, input: Json | undefined): void {
  if (typeof id === 'string' && id !== '') draft.calls.push({ id, name: asText(name) || 'tool', input: input ?? {} })
}

function addResult(
  draft: Draft,
  { id, name, output, failed = false }: { id: Json | undefined; name?: Json | undefined; output: Json | undefined; failed?: boolean },
): void {
  if (typeof id === 'string' && id !== '') draft.results.push({ id, name: asText(name) || null, output: output ?? '', failed })
}

function addReasoning(draft: Draft, value: Json | undefined): void {
  if (typeof value === 'string') draft.reasoning.push(value)
  else for (const part of asObjects(value)) draft.reasoning.push(asText(part.text))
}

/** The content of a result, if it is nothing but text. */
function flat(content: Json | undefined): Json | undefined {
  const value = asObject(content)
  if (value !== undefined && (value.type === 'text' || value.type === 'json' || value.type === 'error-text')) return value.value
  const parts = asObjects(content)
  if (!Array.isArray(content) || parts.length !== content.length || !parts.every(({ type }) => type === 'text')) return content
  return parts.map(({ text }) => asText(text)).join('\n')
}

function mediaOf(part: JsonObject): string {
  const source = asObject(part.source)
  const address = [asObject(part.image_url)?.url, part.image_url, part.url, source?.url, part.file_id, part.data, source?.data].find(
    (value) => typeof value === 'string',
  ) as string | undefined
  if (address === undefined) return asText(part.type)
  return address.length > 200 ? `${asText(part.type)} of ${address.length} characters` : address
}

function parsed(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as Json
  } catch {
    return value
  }
}

function asObject(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

function asObjects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map((item) => asObject(item as Json)).filter((item) => item !== undefined) : []
}
