/** Parts of a `messages.appended` as JSON text: it is written for every message, so nothing in it is made into text twice. */
import type { JsonText } from './json-text.ts'
import type { Run } from './state.ts'

/** Messages with commas between them. One alone is not copied. */
export function textsOf(messages: readonly JsonText[]): string {
  return messages.length === 1 ? (messages[0] as JsonText).text : messages.map(({ text }) => text).join(',')
}

const runTexts = new WeakMap<Run, string>()

/** Every message of a run says the same of it. */
export function runText(run: Run): string {
  const known = runTexts.get(run)
  if (known !== undefined) return known
  const text = JSON.stringify(run)
  runTexts.set(run, text)
  return text
}
