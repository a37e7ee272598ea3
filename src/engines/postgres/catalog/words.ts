/**
 * Texts as the words that PostgreSQL keeps of them, and what is looked for in them. Both are written as PostgreSQL writes its own values, and not
 * left to one of its parsers: those take paths and addresses for one word, know no scripts without spaces, and differ by the server's language.
 */
import { wordsIn } from '../../../dialect/words.ts'
import type { Term, TextQuery } from '../../../engine/catalog.ts'

/** A tsvector holds a mebibyte, and places up to 16383: a long text is kept in parts, and each part is found by itself. */
const PART_WORDS = 8000
/** Places of one word that are kept. */
const PLACES = 255

/** The words of a text with their places, as the text of tsvectors. None if it has no words. */
export function vectorsOf(text: string): string[] {
  const words = wordsIn(text)
  const vectors: string[] = []
  for (let begin = 0; begin < words.length; begin += PART_WORDS) vectors.push(vectorOf(words.slice(begin, begin + PART_WORDS)))
  return vectors
}

function vectorOf(words: readonly string[]): string {
  const places = new Map<string, number[]>()
  for (const [i, word] of words.entries()) {
    const known = places.get(word)
    if (known === undefined) places.set(word, [i + 1])
    else if (known.length < PLACES) known.push(i + 1)
  }
  return [...places].map(([word, at]) => `'${word}':${at.join(',')}`).join(' ')
}

/** The same for a question, as the text of a tsquery; undefined if it has no words. */
export function queryOf({ any, terms }: TextQuery): string | undefined {
  const parts = terms.map(termOf).filter((term) => term !== undefined)
  return parts.length === 0 ? undefined : parts.join(any ? ' | ' : ' & ')
}

function termOf({ forms, prefix }: Term): string | undefined {
  const parts = forms.map((form) => formOf(form, prefix)).filter((form) => form !== undefined)
  return parts.length === 0 ? undefined : `(${parts.join(' | ')})`
}

function formOf(form: string, prefix: boolean): string | undefined {
  const words = wordsIn(form).map((word) => `'${word}'`)
  if (words.length === 0) return undefined
  return `(${words.join(' <-> ')}${prefix ? ':*' : ''})`
}
