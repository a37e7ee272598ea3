/** A simple scorer: how well texts match a query, by the words that they share in whatever form, rare ones counting more. */
import { formsOf } from '../message/words.ts'
import type { Recalled } from './assemble.ts'

/** How many are brought up at most. */
export const RECALLED = 20
/** Words of a query beyond these are not looked for. */
const WANTED = 200
/** Scripts without spaces. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

/** Those that match at all, the best first. */
export function rank(query: string, candidates: readonly Recalled[]): Recalled[] {
  const wanted = wantedBy(query)
  if (wanted.size === 0) return []
  const found = candidates.map(({ text }) => sharedWith(text, wanted))
  const holders = new Map<string, number>()
  for (const { shared } of found) for (const term of shared) holders.set(term, (holders.get(term) ?? 0) + 1)
  const weight = (term: string): number => Math.log(1 + candidates.length / (1 + (holders.get(term) ?? 0)))
  return found
    .map(({ shared, count }, index) => {
      const score = [...shared].reduce((sum, term) => sum + weight(term), 0)
      return { index, score: score / Math.sqrt(1 + count / 100) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, RECALLED)
    .map(({ index }) => candidates[index] as Recalled)
}

/** Every form of a wanted term, with the term. Single characters of scripts without spaces are in almost every text: they are looked for only if there is nothing else. */
function wantedBy(query: string): Map<string, string> {
  const terms = new Set<string>()
  for (const term of termsOf(query)) {
    terms.add(term)
    if (terms.size === WANTED) break
  }
  const telling = [...terms].filter((term) => !(DENSE.test(term) && [...term].length === 1))
  const chosen = telling.length > 0 ? telling : [...terms]
  // What is written stands for itself, whatever else it may be a form of.
  return new Map([
    ...chosen.flatMap((term) => formsOf(term).map((form) => [form, term] as const)),
    ...chosen.map((term) => [term, term] as const),
  ])
}

/** Which of the terms a text has, and how many terms it has at all. */
function sharedWith(text: string, wanted: ReadonlyMap<string, string>): { shared: Set<string>; count: number } {
  const shared = new Set<string>()
  let count = 0
  for (const term of termsOf(text)) {
    count++
    const match = wanted.get(term)
    if (match !== undefined) shared.add(match)
  }
  return { shared, count }
}

/** Words in small letters; of scripts without spaces, every character and every pair. */
function* termsOf(text: string): Generator<string> {
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}_]+/gu)) {
    if (DENSE.test(word)) yield* denseTermsOf(word)
    else yield word
  }
}

/** Words of other scripts may stand among these without a space. */
function* denseTermsOf(text: string): Generator<string> {
  let [before, word] = ['', '']
  for (const character of text) {
    const isDense = DENSE.test(character)
    if (!isDense) word += character
    else {
      if (word !== '') yield word
      yield character
      if (before !== '') yield before + character
      word = ''
    }
    before = isDense ? character : ''
  }
  if (word !== '') yield word
}
