/**
 * Asks a model for the summary of an archive, however long the archive is. One request never has more than the model takes: messages go
 * in parts, and each part's overview is the next one's previous. What is too long for any part is shortened here, in the prompt alone.
 * If the provider still finds a request too long, the limit is halved and the rest goes on from where it was.
 */
import { setImmediate } from 'node:timers/promises'
import { asText, type MessageView, viewOf } from '../message/message.ts'
import { estimateTokens } from '../message/tokens.ts'
import type { KeptMessage } from '../store/messages/stored-message.ts'
import { checkAnswer, cut } from './answer.ts'
import { type DraftMemory, InputTooLong, type Model, type PromptMessage, type SummaryAnswer } from './model.ts'

export interface SummariseInput {
  readonly previous: string | null
  readonly messages: readonly PromptMessage[]
}

export interface SummariseOptions {
  readonly signal: AbortSignal
  /** Counts the tokens of a text; an estimate unless told. */
  readonly countTokens?: (text: string) => number
}

/** One message, and the previous overview, take at most this share of a request each. */
const SHARE = 1 / 4
/** What a message takes beside its text: its id, its role, what separates it from the next. */
const FRAME_TOKENS = 16
/** How often the limit is halved before giving up. */
const HALVINGS = 6
const ABSTRACT_CHARACTERS = 200
const CALL_CHARACTERS = 1000
const RESULT_CHARACTERS = 4000

export async function summarise(
  model: Model,
  { previous, messages }: SummariseInput,
  { signal, countTokens = estimateTokens }: SummariseOptions,
): Promise<SummaryAnswer> {
  const answers: SummaryAnswer[] = []
  let overview = previous
  let limit = model.inputTokens
  let halvings = 0
  // Also of no message at all there is one answer: everything in an archive may have rotted.
  for (let from = 0; from < messages.length || answers.length === 0; ) {
    signal.throwIfAborted()
    const part = nextPart(overview, messages, from, { limit, countTokens })
    try {
      const answer = checkAnswer(await model.summarise({ previous: part.previous, messages: part.messages, signal }), part.messages)
      answers.push(answer)
      overview = answer.overview
      from += part.messages.length
      // A model that does not wait for anything would otherwise hold up everything else.
      if (from < messages.length) await setImmediate()
    } catch (error) {
      if (!(error instanceof InputTooLong) || halvings === HALVINGS) throw error
      halvings++
      limit = Math.floor(Math.min(limit, part.tokens) / 2)
    }
  }
  return mergeAnswers(answers)
}

/** As many messages as fit, at least one, with what is too long shortened. */
function nextPart(
  overview: string | null,
  messages: readonly PromptMessage[],
  from: number,
  { limit, countTokens }: { limit: number; countTokens: (text: string) => number },
): { previous: string | null; messages: PromptMessage[]; tokens: number } {
  const most = Math.max(1, Math.floor(limit * SHARE) - FRAME_TOKENS)
  const previous = overview === null ? null : fitted(overview, most, countTokens)
  let tokens = FRAME_TOKENS + (previous?.tokens ?? 0)
  const part: PromptMessage[] = []
  for (let i = from; i < messages.length; i++) {
    const message = messages[i] as PromptMessage
    const shown = fitted(message.text, most, countTokens)
    if (tokens + shown.tokens + FRAME_TOKENS > limit && part.length > 0) break
    tokens += shown.tokens + FRAME_TOKENS
    part.push(shown.text === message.text ? message : { ...message, text: shown.text })
  }
  return { previous: previous?.text ?? null, messages: part, tokens }
}

/** A text, or as much of its ends as has at most so many tokens. */
function fitted(text: string, most: number, countTokens: (text: string) => number): { text: string; tokens: number } {
  let tokens = countTokens(text)
  let shown = text
  let characters = text.length
  while (tokens > most && characters > 0) {
    // Tokens are not spread evenly, so the first guess may be too long; each one is shorter by a tenth at least.
    characters = Math.floor(Math.min(characters * 0.9, (characters * most) / tokens))
    shown = shorten(text, characters)
    tokens = countTokens(shown)
  }
  return { text: shown, tokens }
}

/** Head and tail of a text, with a mark between them that tells how much was left out. */
export function shorten(text: string, characters: number): string {
  if (text.length <= characters) return text
  const tail = Math.floor(characters / 3)
  const head = text.slice(0, characters - tail).replace(/[\ud800-\udbff]$/, '')
  const end = text.slice(text.length - tail).replace(/^[\udc00-\udfff]/, '')
  return `${head}\n[… ${text.length - head.length - end.length} characters left out …]\n${end}`
}

/** One answer for all parts: the last overview tells everything; of memories with the same key the last one counts. */
function mergeAnswers(answers: readonly SummaryAnswer[]): SummaryAnswer {
  const [first, last] = [answers[0], answers.at(-1)]
  if (first === undefined || last === undefined) throw new Error('The model was not asked.')
  if (answers.length === 1) return first
  const memories = new Map<string, DraftMemory>()
  for (const memory of answers.flatMap((answer) => answer.memories)) {
    memories.delete(memory.key)
    memories.set(memory.key, memory)
  }
  const usages = answers.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const usage = {
    inputTokens: usages.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    outputTokens: usages.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  }
  const ends = [...new Set([first.abstract, last.abstract])]
  return {
    abstract: ends.map((abstract) => (ends.length === 1 ? abstract : cut(abstract, ABSTRACT_CHARACTERS / 2 - 2))).join(' … '),
    overview: last.overview,
    memories: [...memories.values()],
    ...(usages.length === 0 ? {} : { usage }),
  }
}

/** A message as a model is shown it. */
export function promptOf({ id, message }: Pick<KeptMessage, 'id' | 'message'>, extract: boolean): PromptMessage {
  const view = viewOf(message)
  return { id, role: view.role ?? 'unknown', text: promptText(view), extract }
}

/** What was said, then a line for each file, call and result. Ids have no spaces in them, so that the lines can be read again. */
function promptText({ text, calls, results, media }: MessageView): string {
  const word = (id: string): string => id.replace(/\s/g, '_')
  const lines = [
    ...media.map((address) => `[file ${address}]`),
    ...calls.map(({ id, name, input }) => `[call ${word(id)} ${word(name)} ${shorten(asText(input), CALL_CHARACTERS)}]`),
    ...results.map(
      ({ id, output, failed }) => `[${failed ? 'error' : 'result'} ${word(id)} ${shorten(asText(output), RESULT_CHARACTERS)}]`,
    ),
  ]
  return text === '' ? lines.join('\n') : [text, ...lines].join('\n')
}
