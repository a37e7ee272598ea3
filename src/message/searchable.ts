/** What of a message can be found by searching: what was said, and what tools were asked and answered, up to a limit each. */
import type { JsonObject } from '../record/record.ts'
import { asText, viewOf } from './message.ts'

/** In characters. What stands further behind is not found. */
const SEARCHABLE = { text: 128 * 1024, input: 1024, output: 4096 } as const

export function searchableOf(message: JsonObject): { readonly role: string; readonly text: string } {
  const { role = '', text, calls, results } = viewOf(message)
  if (calls.length === 0 && results.length === 0) return { role, text: cut(text, SEARCHABLE.text) }
  const parts = [
    text,
    ...calls.map(({ name, input }) => `${name} ${cut(asText(input), SEARCHABLE.input)}`),
    ...results.map(({ output }) => cut(asText(output), SEARCHABLE.output)),
  ]
  return { role, text: cut(parts.filter((part) => part !== '').join('\n'), SEARCHABLE.text) }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).toWellFormed()
}
