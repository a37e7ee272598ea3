/**
 * Messages in the shapes that providers take. Only what a provider needs is carried over; the kept message stays as it is. Reasoning is
 * left out, and images and files are named, not sent: both are good for the provider that made them only. A window in its own shape,
 * without a format, has them.
 *
 * Whatever the shapes of the messages were, what comes out obeys the rules of its provider: results follow their calls at once, calls
 * that were made together stand together, and for Anthropic the roles take turns, beginning with the user. If the window begins with
 * the assistant because the budget ended there, a line in the user's name says so; dropping what the assistant said would lose more.
 */
import type { Json, JsonObject } from '../record/record.ts'
import { asText, type MessageView, type ToolCall, type ToolResult } from './message.ts'
import type {
  AiSdkMessage,
  AiSdkTextPart,
  AiSdkToolCallPart,
  AiSdkToolResultPart,
  AnthropicBlock,
  AnthropicMessage,
  Format,
  FormatMessages,
  OpenAiMessage,
  OpenAiResponsesItem,
  OpenAiToolCall,
  TextMessage,
} from './shapes.ts'

/**
 * The formats in which a window can be returned.
 *
 * @example const { messages } = await session.window({ format: FORMATS[0] })
 */
export const FORMATS = ['openai', 'openai-responses', 'anthropic', 'ai-sdk', 'text'] as const satisfies readonly Format[]

/** What is converted: a message as it was kept, what can be told of it. */
export interface Viewed {
  readonly message: JsonObject
  readonly view: MessageView
}

/** A step of the conversation: what one side said, or what tools answered. */
type Step =
  | { readonly by: 'system' | 'user'; readonly text: string }
  | { readonly by: 'assistant'; readonly text: string; readonly calls: readonly ToolCall[] }
  | { readonly by: 'tool'; readonly results: readonly (ToolResult & { readonly name: string })[] }

export function convert<F extends Format>(format: F, messages: readonly Viewed[]): FormatMessages[F][] {
  return CONVERTERS[format](messages.map(({ view }) => view))
}

const CONVERTERS: { readonly [F in Format]: (views: readonly MessageView[]) => FormatMessages[F][] } = {
  openai: (views) => stepsOf(views).flatMap(toOpenAi),
  'openai-responses': (views) => stepsOf(views).flatMap(toResponses),
  anthropic: (views) => toAnthropic(stepsOf(views)),
  'ai-sdk': (views) => stepsOf(views).map(toAiSdk),
  text: (views) => views.map(toText),
}

function stepsOf(views: readonly MessageView[]): Step[] {
  const names = new Map<string, string>()
  const steps: Step[] = []
  for (const view of views) {
    for (const { id, name } of view.calls) names.set(id, name)
    for (const step of stepsIn(view, names)) {
      const before = steps.at(-1)
      const one = before === undefined ? undefined : together(before, step)
      if (one === undefined) steps.push(step)
      else steps[steps.length - 1] = one
    }
  }
  return steps
}

/** A user's message may bring results, which come first; the assistant's may hold those of its own calls, and go on behind them. */
function stepsIn({ role, text, closing: end, calls, results, media }: MessageView, names: ReadonlyMap<string, string>): Step[] {
  const named = results.map((result) => ({ ...result, name: result.name ?? names.get(result.id) ?? 'tool' }))
  const answers: Step[] = named.length === 0 ? [] : [{ by: 'tool', results: named }]
  const said = [text, ...media.map((address) => `[file ${address}]`)].filter((part) => part.trim() !== '').join('\n')
  const closing = end.trim() === '' ? '' : end
  if (role === 'tool') return answers
  if (role !== 'assistant') return said === '' ? answers : [...answers, { by: role ?? 'user', text: said }]
  const early = closing === '' ? said : said.slice(0, Math.max(0, text.length - closing.length)).trimEnd()
  const first: Step[] = early === '' && calls.length === 0 ? [] : [{ by: 'assistant', text: early, calls }]
  return [...first, ...answers, ...(closing === '' ? [] : [{ by: 'assistant', text: closing, calls: [] } as const])]
}

/** Two steps as one, if they are: calls that were written down one by one, results likewise. */
function together(a: Step, b: Step): Step | undefined {
  if (a.by === 'tool' && b.by === 'tool') return { by: 'tool', results: [...a.results, ...b.results] }
  if (a.by !== 'assistant' || b.by !== 'assistant' || a.calls.length === 0) return undefined
  return { by: 'assistant', text: [a.text, b.text].filter((text) => text !== '').join('\n'), calls: [...a.calls, ...b.calls] }
}

function toOpenAi(step: Step): OpenAiMessage[] {
  if (step.by === 'tool') return step.results.map(({ id, output }) => ({ role: 'tool', tool_call_id: id, content: asText(output) }))
  if (step.by !== 'assistant' || step.calls.length === 0) return [{ role: step.by, content: step.text }]
  const calls = step.calls.map(
    ({ id, name, input }): OpenAiToolCall => ({ id, type: 'function', function: { name, arguments: argumentsOf(input) } }),
  )
  return [{ role: 'assistant', content: step.text === '' ? null : step.text, tool_calls: calls }]
}

function toResponses(step: Step): OpenAiResponsesItem[] {
  if (step.by === 'tool')
    return step.results.map(({ id, output }) => ({ type: 'function_call_output', call_id: id, output: asText(output) }))
  const said: OpenAiResponsesItem[] = step.text === '' ? [] : [{ type: 'message', role: step.by, content: step.text }]
  if (step.by !== 'assistant') return said
  for (const { id, name, input } of step.calls) said.push({ type: 'function_call', call_id: id, name, arguments: argumentsOf(input) })
  return said
}

const LEFT_OUT = '[What was said before this is left out.]'

function toAnthropic(steps: readonly Step[]): AnthropicMessage[] {
  const messages: AnthropicMessage[] = []
  for (const step of steps) {
    // Anthropic takes instructions apart from the messages; one among them is said by the user.
    const role = step.by === 'assistant' ? 'assistant' : 'user'
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...anthropicContent(step))
    else messages.push({ role, content: anthropicContent(step) })
  }
  if (messages[0]?.role === 'assistant') messages.unshift({ role: 'user', content: [{ type: 'text', text: LEFT_OUT }] })
  return messages
}

function anthropicContent(step: Step): AnthropicBlock[] {
  if (step.by === 'tool') {
    return step.results.map(({ id, output, failed }) => ({
      type: 'tool_result',
      tool_use_id: anthropicId(id),
      content: asText(output),
      ...(failed ? { is_error: true } : {}),
    }))
  }
  // A text that ends with a space is refused where the assistant is to go on with it.
  const text = step.by === 'assistant' ? step.text.trimEnd() : step.text
  const said: AnthropicBlock[] = text === '' ? [] : [{ type: 'text', text }]
  if (step.by !== 'assistant') return said
  for (const { id, name, input } of step.calls) said.push({ type: 'tool_use', id: anthropicId(id), name, input: inputOf(input) })
  return said
}

function toAiSdk(step: Step): AiSdkMessage {
  if (step.by === 'tool') {
    const content = step.results.map(
      ({ id, name, output, failed }): AiSdkToolResultPart => ({
        type: 'tool-result',
        toolCallId: id,
        toolName: name,
        output: { type: failed ? 'error-text' : 'text', value: asText(output) },
      }),
    )
    return { role: 'tool', content }
  }
  if (step.by !== 'assistant' || step.calls.length === 0) return { role: step.by, content: step.text }
  const said: AiSdkTextPart[] = step.text === '' ? [] : [{ type: 'text', text: step.text }]
  const calls = step.calls.map(({ id, name, input }): AiSdkToolCallPart => ({ type: 'tool-call', toolCallId: id, toolName: name, input }))
  return { role: 'assistant', content: [...said, ...calls] }
}

function toText(view: MessageView): TextMessage {
  const lines = [
    ...(view.text === '' ? [] : [view.text]),
    ...view.media.map((address) => `[file ${address}]`),
    ...view.calls.map(({ name, input }) => `[calls ${name} ${asText(input)}]`),
    ...view.results.map(({ output }) => `[result: ${asText(output)}]`),
  ]
  return { role: view.role ?? 'user', text: lines.join('\n') }
}

function argumentsOf(input: Json): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

/** Anthropic takes objects only. */
function inputOf(input: Json): { [name: string]: Json } {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? { ...(input as JsonObject) } : { input }
}

/** Anthropic takes letters, digits, `_` and `-` only; calls and their results change alike. */
function anthropicId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_')
}
