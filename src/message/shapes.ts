/**
 * The types of messages. `Message` is what a session takes if you name no type of your own: every shape that `viewOf` reads, and any further
 * fields. The types after it are what a window returns in each format. They fit the types of the SDKs and import none of them.
 */
import type { Json } from '../record/record.ts'
import type { Role } from './message.ts'

/** A part of a message: a text, or an object such as a tool call, an image or a file. */
export type MessagePart = string | PartFields | (PartFields & OtherFields)

export interface PartFields {
  readonly type?: string | undefined
  readonly text?: string | undefined
}

/**
 * A message that names its role: the messages of OpenAI chat, Anthropic, Gemini and the AI SDK, and plain `role` with `content` or `text`.
 */
export interface RoleMessage {
  readonly role: string
  readonly content?: string | readonly MessagePart[] | null | undefined
  readonly parts?: readonly MessagePart[] | undefined
  readonly text?: string | undefined
  readonly type?: string | undefined
  /** The message id, if it is a text and `append` is given no other. */
  readonly id?: unknown
}

/**
 * A message that names its type and no role: items of OpenAI Responses and of its agents, messages of LangChain, and lines of Claude Code's
 * transcripts.
 */
export interface ItemMessage {
  readonly type: string
  readonly role?: undefined
  readonly content?: unknown
  readonly parts?: unknown
  readonly text?: unknown
  /** The message id, if it is a text and `append` is given no other. */
  readonly id?: unknown
}

/** Fields that Holdfast keeps and does not read. */
export interface OtherFields {
  readonly [field: string]: unknown
}

/**
 * A message in any shape that Holdfast knows. It has a `role` or a `type`. Holdfast keeps all other fields as they are. Pass a type of your own
 * to `store.session<MyMessage>(id)` to be stricter.
 */
export type Message = RoleMessage | ItemMessage | (RoleMessage & OtherFields) | (ItemMessage & OtherFields)

/** A message for OpenAI's chat completions. */
export type OpenAiMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls?: OpenAiToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }

export interface OpenAiToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
}

/** An input item for OpenAI's responses. */
export type OpenAiResponsesItem =
  | { type: 'message'; role: 'system' | 'user' | 'assistant'; content: string }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
  | { type: 'function_call_output'; call_id: string; output: string }

/** A message for Anthropic's messages. */
export interface AnthropicMessage {
  role: 'user' | 'assistant'
  content: AnthropicBlock[]
}

export type AnthropicBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: { [name: string]: Json } }
  | { type: 'tool_result'; tool_use_id: string; content: string; is_error?: true }

/** A model message of the AI SDK, as `streamText` and `generateText` take it. */
export type AiSdkMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string | (AiSdkTextPart | AiSdkToolCallPart)[] }
  | { role: 'tool'; content: AiSdkToolResultPart[] }

export interface AiSdkTextPart {
  type: 'text'
  text: string
}

export interface AiSdkToolCallPart {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: Json
}

export interface AiSdkToolResultPart {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: { type: 'text'; value: string } | { type: 'error-text'; value: string }
}

/** A message as text, with its calls, results and files named in it. */
export interface TextMessage {
  role: Role
  text: string
}

/** The type of a window's messages in each format. */
export interface FormatMessages {
  openai: OpenAiMessage
  'openai-responses': OpenAiResponsesItem
  anthropic: AnthropicMessage
  'ai-sdk': AiSdkMessage
  text: TextMessage
}

/** A format in which a window can be returned. */
export type Format = keyof FormatMessages

/** The type of a window's messages: that of its format `F`, or `M` without a format. */
export type WindowMessage<M, F extends Format | undefined> = F extends Format ? FormatMessages[F] : M
