/** A simple scorer: how well texts match a query, by the words that they share, rare ones counting more. */
import type { Recalled } from './assemble.ts'

const RECALLED = 20

/** Those that match at all, the best first. */
export function rank(query: string, candidates: readonly Recalled[]): Recalled[] {
  const wanted = new Set(termsOf(query))
  if (wanted.size === 0) return []
  const terms = candidates.map(({ text }) => new Set(termsOf(text)))
  const weights = new Map(
    [...wanted].map((term) => [term, Math.log(1 + candidates.length / (1 + terms.filter((set) => set.has(term)).length))]),
  )
  return candidates
    .map((candidate, index) => {
      const shared = [...wanted].filter((term) => terms[index]?.has(term))
      const score = shared.reduce((sum, term) => sum + (weights.get(term) ?? 0), 0)
      return { candidate, index, score: score / Math.sqrt(1 + (terms[index]?.size ?? 0) / 100) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, RECALLED)
    .map(({ candidate }) => candidate)
}

/** Words in small letters; of scripts without spaces, every character and every pair. */
function termsOf(text: string): string[] {
  const terms: string[] = []
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}_]+/gu)) {
    if (!/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(word)) terms.push(word)
    else {
      const characters = [...word]
      terms.push(...characters, ...characters.slice(1).map((character, i) => `${characters[i] ?? ''}${character}`))
    }
  }
  return terms
}
