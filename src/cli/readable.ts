/**
 * Messages as people read them, whatever shape they have: a text as content; a list of parts, as OpenAI, Anthropic and others have it; calls
 * of tools as one line each; anything else as JSON. Nothing is left out but what cannot be shown. Pure; the texts are not escaped yet.
 */
import type { Json, JsonObject } from '../record/record.ts'

const CALL_LENGTH = 200

/** Who speaks; what a terminal shows in front of the content. */
export function roleOf(message: JsonObject): string {
  const { role, type, name } = message
  const who = typeof role === 'string' ? role : typeof type === 'string' ? type : 'message'
  return role === 'tool' && typeof name === 'string' ? `${who} ${name}` : who
}

export function readable(message: JsonObject): string {
  const { content, parts, tool_calls: calls } = message
  const body = content ?? parts
  const texts = [...(body === undefined || body === null ? [] : [textOf(body)]), ...(Array.isArray(calls) ? calls.map(callOf) : [])]
  if (texts.length > 0) return texts.filter((text) => text !== '').join('\n')
  const { role: _, id: __, ...rest } = message
  return Object.keys(rest).length === 0 ? '' : JSON.stringify(rest)
}

function textOf(content: Json): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return (content as readonly Json[]).map(partOf).join('\n')
  return JSON.stringify(content)
}

function partOf(part: Json): string {
  if (typeof part === 'string') return part
  if (!isObject(part)) return JSON.stringify(part)
  const { type, text, thinking, name, input, content, tool_name: toolName, tool_input: toolInput, tool_output: toolOutput } = part
  if (typeof text === 'string') return text
  if (typeof thinking === 'string') return `(${thinking})`
  if (type === 'tool_use' && typeof name === 'string') return lineOfCall(name, input)
  if (type === 'tool_result') return `← ${content === undefined ? '' : textOf(content)}`
  if (type === 'tool' && typeof toolName === 'string') {
    return [lineOfCall(toolName, toolInput), ...(toolOutput === undefined ? [] : [`← ${textOf(toolOutput)}`])].join('\n')
  }
  return shortened(JSON.stringify(part))
}

/** OpenAI's: the arguments are JSON in a text. */
function callOf(call: Json): string {
  if (isObject(call) && isObject(call.function) && typeof call.function.name === 'string') {
    return lineOfCall(call.function.name, call.function.arguments)
  }
  return shortened(JSON.stringify(call))
}

function lineOfCall(name: string, input: Json | undefined): string {
  const text = typeof input === 'string' ? input : input === undefined ? '' : JSON.stringify(input)
  return `→ ${name}(${shortened(text)})`
}

/** Long things that are not for reading, such as an image in base64. */
function shortened(text: string): string {
  const line = text.replaceAll('\n', ' ')
  return line.length > CALL_LENGTH ? `${line.slice(0, CALL_LENGTH).toWellFormed()}… (${line.length} characters)` : line
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
