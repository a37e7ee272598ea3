/**
 * A message of LangChain from what it was serialised to. LangChain's own way looks at every value of every message, asynchronously, and takes
 * most of the time of reading a long conversation; a message that holds nothing but plain JSON, in fields whose names stay as they are, is
 * made directly.
 */

import { isDeepStrictEqual } from 'node:util'
import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import type { JsonObject } from '../../record/record.ts'

const CLASSES: ReadonlyMap<string, new (fields: never) => BaseMessage> = new Map<string, new (fields: never) => BaseMessage>([
  ['AIMessage', AIMessage],
  ['HumanMessage', HumanMessage],
  ['SystemMessage', SystemMessage],
  ['ToolMessage', ToolMessage],
  ['ChatMessage', ChatMessage],
  ['FunctionMessage', FunctionMessage],
])
const PLAIN_FIELDS = new Set(
  'content id name role status artifact additional_kwargs response_metadata tool_calls invalid_tool_calls usage_metadata tool_call_id'.split(
    ' ',
  ),
)

/** What a message was made of, where nothing but its class and plain JSON is needed to make it again. */
export interface Plain {
  readonly Message: new (fields: never) => BaseMessage
  readonly kwargs: JsonObject
}

/** Undefined if it has to be loaded by LangChain. */
export function plainOf(text: string): Plain | undefined {
  // Anything else that LangChain would make an object of has such a mark too.
  if (text.indexOf('"lc":', text.indexOf('"lc":') + 1) !== -1 || text.includes('"__lc_escaped__"')) return undefined
  const { lc, type, id, kwargs } = JSON.parse(text) as JsonObject
  const path = Array.isArray(id) ? id.join('/') : ''
  const Message = CLASSES.get(path.replace(/^langchain_core\/messages\//, ''))
  if (lc !== 1 || type !== 'constructor' || Message === undefined || !path.startsWith('langchain_core/messages/')) return undefined
  if (!Object.keys(kwargs as JsonObject).every((field) => PLAIN_FIELDS.has(field))) return undefined
  return { Message, kwargs: kwargs as JsonObject }
}

export function plainMessage(text: string): BaseMessage | undefined {
  const plain = plainOf(text)
  return plain === undefined ? undefined : new plain.Message(plain.kwargs as never)
}

/** Whether a message would be serialised to what this one was. Only sure ones are told: what is false may be the same all the same. */
export function isSame(message: BaseMessage, { Message, kwargs }: Plain): boolean {
  if (message.constructor !== Message) return false
  const { lc_kwargs: fields } = message
  const names = Object.keys(fields)
  if (names.length !== Object.keys(kwargs).length) return false
  return names.every((name) => {
    const value = name in message ? (message as unknown as Record<string, unknown>)[name] : fields[name]
    return name in kwargs && (value === kwargs[name] || isDeepStrictEqual(value, kwargs[name]))
  })
}
