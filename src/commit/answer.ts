/**
 * What a model answered, checked before it is believed. An answer without an abstract or an overview is a failure, never a summary of
 * nothing. Memories that nobody may draw are dropped one by one; the rest of the answer is good all the same.
 */
import type { DraftMemory, PromptMessage, SummaryAnswer } from './model.ts'

/** Characters and counts beyond which an answer is cut. */
const ANSWER = { abstract: 500, overview: 32 * 1024, memories: 100, key: 200, category: 100, text: 2000 } as const

/** Throws an Error that says what is wrong. */
export function checkAnswer(answer: unknown, messages: readonly PromptMessage[]): SummaryAnswer {
  if (typeof answer !== 'object' || answer === null) throw new Error(`The answer must be an object; got ${kindOf(answer)}.`)
  const { abstract, overview, memories = [], usage } = answer as Partial<Record<keyof SummaryAnswer, unknown>>
  if (!Array.isArray(memories)) throw new Error(`The memories must be an array; got ${kindOf(memories)}.`)
  const extractable = new Set(messages.filter(({ extract }) => extract).map(({ id }) => id))
  return {
    abstract: cut(checkText('abstract', abstract).replace(/\s+/g, ' '), ANSWER.abstract),
    overview: cut(checkText('overview', overview), ANSWER.overview),
    memories: memories.flatMap((memory) => checkMemory(memory, extractable)).slice(0, ANSWER.memories),
    ...checkUsage(usage),
  }
}

function checkText(what: string, text: unknown): string {
  if (typeof text !== 'string') throw new Error(`The ${what} must be a text; got ${kindOf(text)}.`)
  const trimmed = text.toWellFormed().trim()
  if (trimmed === '') throw new Error(`The ${what} is empty.`)
  return trimmed
}

/** None if it names no message that may be extracted: from that one a memory was, or will be, drawn elsewhere. */
function checkMemory(memory: unknown, extractable: ReadonlySet<string>): DraftMemory[] {
  if (typeof memory !== 'object' || memory === null) throw new Error(`A memory must be an object; got ${kindOf(memory)}.`)
  const { key, category, text, sources } = memory as Partial<Record<keyof DraftMemory, unknown>>
  const gone = text === undefined || text === null
  if (!Array.isArray(sources)) throw new Error(`The sources of a memory must be an array; got ${kindOf(sources)}.`)
  const named = [...new Set(sources)].filter((id): id is string => typeof id === 'string' && extractable.has(id))
  const checked = {
    key: cut(checkText('key of a memory', key), ANSWER.key),
    category: cut(checkText('category of a memory', category), ANSWER.category),
    ...(gone ? {} : { text: cut(checkText('text of a memory', text), ANSWER.text) }),
    sources: named,
  }
  return named.length === 0 ? [] : [checked]
}

function checkUsage(usage: unknown): Pick<SummaryAnswer, 'usage'> {
  const { inputTokens, outputTokens } = (usage ?? {}) as Partial<Record<'inputTokens' | 'outputTokens', unknown>>
  if (!isCount(inputTokens) || !isCount(outputTokens)) return {}
  return { usage: { inputTokens, outputTokens } }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** The beginning of a text, with no half of a pair at its end. */
export function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : typeof value
}
