/**
 * What can be told of a message, whatever shape its writer uses. Messages are kept as they came; this is how the window, summaries and
 * search look at them. Known shapes: OpenAI chat and responses items and those of its agents, Anthropic, the AI SDK's UI and model
 * messages, LangChain's messages as it serialises them, lines of Claude Code's transcripts, parts as OpenViking's clients send them, and plain `role` with `content` or `text`. What is not known is passed over, never refused.
 */
import type { Json, JsonObject } from '../record/record.ts'

export type Role = 'system' | 'user' | 'assistant' | 'tool'

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
  /** What of the text stands behind the message's last result: one UI message of the AI SDK holds several steps. */
  readonly closing: string
  readonly reasoning: string
  readonly calls: readonly ToolCall[]
  readonly results: readonly ToolResult[]
  /** Addresses of images and files, or how many bytes they have if they are part of the message. */
  readonly media: readonly string[]
}

interface Draft {
  text: string[]
  /** How many texts stand in front of the last result. */
  early: number
  reasoning: string[]
  /** By id. */
  calls: Map<string, ToolCall>
  results: Map<string, ToolResult>
  media: string[]
}

/**
 * Reads a message of any known shape. Fields that it does not know are ignored.
 *
 * @returns The role, the text, tool calls and results, reasoning and media.
 * @example
 * const { messages } = await session.messages()
 * for (const { message } of messages) console.log(viewOf(message).text)
 */
export function viewOf(kept: object): MessageView {
  const message = unwrapped(kept as JsonObject)
  const draft: Draft = { text: [], early: 0, reasoning: [], calls: new Map(), results: new Map(), media: [] }
  addMessage(draft, message)
  const { text, early, reasoning, media } = draft
  const [calls, results] = [[...draft.calls.values()], [...draft.results.values()]]
  const closing = results.length === 0 ? '' : joined(text.slice(early))
  return { role: roleOf(message, draft), text: joined(text), closing, reasoning: joined(reasoning), calls, results, media }
}

/** A message of LangChain says by its class whose it is, and has the rest one level down; so has a line of Claude Code's transcripts. */
function unwrapped(message: JsonObject): JsonObject {
  const inner = message.type === 'user' || message.type === 'assistant' ? asObject(message.message) : undefined
  if (typeof inner?.role === 'string') return inner
  const kwargs = message.lc === 1 && message.type === 'constructor' ? asObject(message.kwargs) : undefined
  if (kwargs === undefined) return message
  const name = asText(Array.isArray(message.id) ? (message.id.at(-1) as Json) : '')
  const role = name === 'ChatMessage' ? kwargs.role : name.replace(/Message(?:Chunk)?$/, '').toLowerCase()
  return { ...kwargs, role: role ?? '' }
}

function joined(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n')
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
  if (named === 'user' && results.size > 0 && joined(text) === '') return 'tool'
  if (named !== undefined) return named
  if (calls.size > 0 || message.type === 'reasoning') return 'assistant'
  return results.size > 0 ? 'tool' : undefined
}

const RESULT_TYPES = new Set(['function_call_output', 'custom_tool_call_output', 'function_call_result'])

function addMessage(draft: Draft, message: JsonObject): void {
  if (message.type === 'function_call' || message.type === 'custom_tool_call') {
    addCall(draft, message.call_id ?? message.callId ?? message.id, message.name, parsed(message.arguments ?? message.input))
  } else if (typeof message.type === 'string' && RESULT_TYPES.has(message.type)) {
    addResult(draft, { id: message.call_id ?? message.callId, name: message.name, output: flat(message.output) })
  } else if (message.type === 'reasoning') {
    addReasoning(draft, message.summary)
    addReasoning(draft, message.content)
  } else if (message.role === 'tool' && typeof message.tool_call_id === 'string') {
    addResult(draft, { id: message.tool_call_id, name: message.name, output: flat(message.content) })
  } else {
    // A UI message may have its text a second time, as `content`.
    if (Array.isArray(message.parts)) addContent(draft, message.parts)
    if (joined(draft.text) === '') addContent(draft, message.content ?? message.text)
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
  // Also `server_tool_use` with `web_search_tool_result` and the like, which stand in one message.
  else if (type.endsWith('tool_use')) addCall(draft, part.id, part.name, part.input)
  else if (type.endsWith('tool_result'))
    addResult(draft, { id: part.tool_use_id, output: flat(part.content), failed: part.is_error === true })
  else if (type === 'tool-call') addCall(draft, part.toolCallId, part.toolName, part.input ?? part.args)
  else if (type === 'tool-result') addModelResult(draft, part)
  else if (type === 'tool-invocation') addInvocation(draft, asObject(part.toolInvocation) ?? {})
  else if (type === 'dynamic-tool' || type.startsWith('tool-')) addToolPart(draft, part, part.toolName ?? type.slice('tool-'.length))
  else if (type === 'tool') addVikingTool(draft, part)
  else if (type === 'context') draft.text.push(asText(part.abstract ?? part.uri))
  else if (typeof part.text === 'string') draft.text.push(part.text)
  else draft.media.push(...mediaOf(part, type))
}

function addModelResult(draft: Draft, part: JsonObject): void {
  const output = part.output ?? part.result
  const failed = part.isError === true || asText(asObject(output)?.type).startsWith('error-')
  addResult(draft, { id: part.toolCallId, name: part.toolName, output: flat(output), failed })
}

/** The same as a part below, as the AI SDK had it before version 5. */
function addInvocation(draft: Draft, { toolCallId, toolName, args, state, result }: JsonObject): void {
  addCall(draft, toolCallId, toolName, args)
  if (state === 'result') addResult(draft, { id: toolCallId, name: toolName, output: result })
}

/** A call of the AI SDK's UI messages: one part, which gets its output when there is one. */
function addToolPart(draft: Draft, part: JsonObject, name: Json): void {
  addCall(draft, part.toolCallId, name, part.input)
  if (part.state === 'output-available' && part.preliminary !== true) addResult(draft, { id: part.toolCallId, name, output: part.output })
  else if (part.state === 'output-error') addResult(draft, { id: part.toolCallId, name, output: part.errorText, failed: true })
  else if (part.state === 'output-denied')
    addResult(draft, { id: part.toolCallId, name, output: 'The user denied this call.', failed: true })
}

function addVikingTool(draft: Draft, part: JsonObject): void {
  addCall(draft, part.tool_id, part.tool_name, part.tool_input)
  const done = part.tool_output !== undefined && part.tool_output !== null && part.tool_output !== ''
  if (done || part.tool_status === 'completed' || part.tool_status === 'error') {
    addResult(draft, { id: part.tool_id, name: part.tool_name, output: part.tool_output, failed: part.tool_status === 'error' })
  }
}

/** An id that comes twice in one message counts once: nobody could tell the answers apart. */
function addCall(draft: Draft, id: Json | undefined, name: Json | undefined, input: Json | undefined): void {
  if (typeof id !== 'string' || id === '' || draft.calls.has(id)) return
  draft.calls.set(id, { id, name: asText(name) || 'tool', input: input ?? {} })
}

function addResult(
  draft: Draft,
  { id, name, output, failed = false }: { id: Json | undefined; name?: Json | undefined; output: Json | undefined; failed?: boolean },
): void {
  if (typeof id !== 'string' || id === '' || draft.results.has(id)) return
  draft.results.set(id, { id, name: asText(name) || null, output: output ?? '', failed })
  draft.early = draft.text.length
}

function addReasoning(draft: Draft, value: Json | undefined): void {
  if (typeof value === 'string') draft.reasoning.push(value)
  else for (const part of asObjects(value)) draft.reasoning.push(asText(part.text))
}

const WRAPPED = new Set(['text', 'json', 'error-text', 'error-json'])
const TEXT_PARTS = new Set(['text', 'input_text', 'output_text'])

/** The content of a result without its wrapping: the value of the AI SDK's outputs, the text of parts that are nothing but text. */
function flat(content: Json | undefined): Json | undefined {
  const value = asObject(content)
  if (value !== undefined && value.value !== undefined && WRAPPED.has(asText(value.type))) return value.value
  if (value?.type === 'text' && typeof value.text === 'string') return value.text
  const parts = asObjects(value?.type === 'content' ? value.value : content)
  const whole = Array.isArray(content) ? content.length : undefined
  const isText = parts.length > 0 && (whole ?? parts.length) === parts.length && parts.every(({ type }) => TEXT_PARTS.has(asText(type)))
  return isText ? parts.map(({ text }) => asText(text)).join('\n') : content
}

/** None for parts that are no file, such as the marks between steps. */
function mediaOf(part: JsonObject, type: string): string[] {
  const source = asObject(part.source)
  const places = [
    asObject(part.image_url)?.url,
    part.image_url,
    part.image,
    part.url,
    source?.url,
    part.file_id,
    asObject(part.file)?.file_id,
    asObject(part.file)?.file_data,
    asObject(part.input_audio)?.data,
    part.data,
    source?.data,
  ]
  const address = places.find((value) => typeof value === 'string') as string | undefined
  if (address === undefined) return /image|file|audio|video|document/.test(type) ? [type] : []
  return [address.length > 200 ? `${type} of ${address.length} characters` : address]
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
