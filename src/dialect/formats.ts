/** Messages in the shapes that providers take. Only what a provider needs is carried over; the kept message stays as it is. */
import type { Json, JsonObject } from '../record/record.ts'
import { asText, type MessageView, type ToolCall, type ToolResult } from './message.ts'

export const FORMATS = ['openai', 'openai-responses', 'anthropic', 'ai-sdk', 'text'] as const
export type Format = (typeof FORMATS)[number]

/** What is converted: a message as it was kept, what can be told of it. */
export interface Viewed {
  readonly message: JsonObject
  readonly view: MessageView
}

export function convert(format: Format, messages: readonly Viewed[]): JsonObject[] {
  return messages.flatMap(({ view }) => CONVERTERS[format](view))
}

const CONVERTERS: Readonly<Record<Format, (view: MessageView) => JsonObject[]>> = {
  openai: toOpenAi,
  'openai-responses': toResponses,
  anthropic: toAnthropic,
  'ai-sdk': toAiSdk,
  text: toText,
}

function toOpenAi(view: MessageView): JsonObject[] {
  const results = view.results.map(({ id, output }) => ({ role: 'tool', tool_call_id: id, content: asText(output) }))
  if (view.role === 'tool') return results
  const calls = view.calls.map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: argumentsOf(input) } }))
  if (calls.length > 0) return [{ role: 'assistant', content: view.text === '' ? null : view.text, tool_calls: calls }, ...results]
  return [{ role: view.role ?? 'user', content: view.text }, ...results]
}

function toResponses(view: MessageView): JsonObject[] {
  const kind = view.role === 'assistant' ? 'output_text' : 'input_text'
  const said =
    view.text === '' || view.role === 'tool'
      ? []
      : [{ type: 'message', role: view.role ?? 'user', content: [{ type: kind, text: view.text }] }]
  const calls = view.calls.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: argumentsOf(input) }))
  const results = view.results.map(({ id, output }) => ({ type: 'function_call_output', call_id: id, output: asText(output) }))
  return [...said, ...calls, ...results]
}

function toAnthropic(view: MessageView): JsonObject[] {
  const results = view.results.map((result) => anthropicResult(result))
  const answer = results.length === 0 ? [] : [{ role: 'user', content: results }]
  if (view.role === 'tool') return answer
  const said = view.text === '' ? [] : [{ type: 'text', text: view.text }]
  const calls = view.calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input: inputOf(input) }))
  // Anthropic takes instructions apart from the messages; one in between is said by the user.
  const role = view.role === 'assistant' ? 'assistant' : 'user'
  const content = [...said, ...calls]
  return content.length === 0 ? answer : [{ role, content }, ...answer]
}

function anthropicResult({ id, output, failed }: ToolResult): JsonObject {
  return { type: 'tool_result', tool_use_id: id, content: asText(output), ...(failed ? { is_error: true } : {}) }
}

function toAiSdk(view: MessageView): JsonObject[] {
  const results = view.results.map((result) => ({
    type: 'tool-result',
    toolCallId: result.id,
    toolName: result.name ?? nameOf(view.calls, result.id),
    output: { type: result.failed ? 'error-text' : 'text', value: asText(result.output) },
  }))
  const answer = results.length === 0 ? [] : [{ role: 'tool', content: results }]
  if (view.role === 'tool') return answer
  if (view.calls.length === 0) return [{ role: view.role ?? 'user', content: view.text }, ...answer]
  const said = view.text === '' ? [] : [{ type: 'text', text: view.text }]
  const calls = view.calls.map(({ id, name, input }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input }))
  return [{ role: 'assistant', content: [...said, ...calls] }, ...answer]
}

function toText(view: MessageView): JsonObject[] {
  const lines = [
    ...(view.text === '' ? [] : [view.text]),
    ...view.calls.map(({ name, input }) => `[calls ${name} ${asText(input)}]`),
    ...view.results.map(({ output }) => `[result: ${asText(output)}]`),
  ]
  return [{ role: view.role ?? 'user', text: lines.join('\n') }]
}

function nameOf(calls: readonly ToolCall[], id: string): string {
  return calls.find((call) => call.id === id)?.name ?? 'tool'
}

function argumentsOf(input: Json): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

/** Anthropic takes objects only. */
function inputOf(input: Json): Json {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { input }
}
