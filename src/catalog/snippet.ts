/** Snippets: a piece of a text around what was looked for, with the places of the hits. Cut from the source, so that it reads as it was written. */

import type { Term, TextQuery } from '../message/text-query.ts'
import { decomposed, spaced } from '../message/words.ts'

export interface Snippet {
  readonly snippet: string
  /** Where hits begin and end in it. */
  readonly marks: readonly (readonly [from: number, to: number])[]
}

type Hit = readonly [from: number, to: number]

interface Token {
  readonly from: number
  readonly to: number
  readonly word: string
}

const LENGTH = 200
/** Hits that are shown of one text. */
const HITS = 50
/** Words of a phrase that are compared: a text of one word again and again would be compared with all of them at each place. */
const PHRASE = 16
/** Characters that are looked at together: most texts, and of longer ones hardly ever more than the first few pieces. */
const PIECE = 8192
/** So far into the next one: a word, or several in a row, may stand on the border. */
const OVERLAP = 512
/**
 * Characters of a text that are taken apart, which takes tens of milliseconds: a message may be as long as a book, and whoever waits for something else meanwhile waits as long. Of
 * plain ones eight times as many, and a plain piece that none of the words can stand in costs nothing of it.
 */
const TAKEN_APART = 65_536
const PLAIN_COST = 1 / 8

export function snippetOf(text: string, query: TextQuery): Snippet {
  const hits = hitsIn(text, query)
  const begin = beginOf(text, hits)
  const end = Math.min(text.length, begin + LENGTH)
  const [from, to] = [begin === 0 ? 0 : wordBegin(text, begin), end === text.length ? end : wordEnd(text, end)]
  const before = from > 0 ? '…' : ''
  // One character for one, so that marks stay where they are.
  const piece = text.slice(from, to).replace(/\s/g, ' ')
  const marks = hits
    .filter((hit) => hit[0] >= from && hit[1] <= to)
    // Not before it is known which piece is shown: a term that stands late has its place in it, too.
    .slice(0, HITS)
    .map(([a, b]) => [a - from + before.length, b - from + before.length] as const)
  return { snippet: `${before}${piece}${to < text.length ? '…' : ''}`, marks }
}

/** Where terms stand, in order and without overlaps: up to the end of the piece that has the last of them that was missing, or until enough was taken apart. */
function hitsIn(text: string, { terms }: TextQuery): Hit[] {
  const hits: Hit[] = []
  const missing = new Set(terms)
  const beginnings = terms.flatMap(({ forms }) => forms.map((form) => tokensOf(form)[0]?.word ?? ''))
  let left = TAKEN_APART
  for (let at = 0; at < text.length && missing.size > 0; at += PIECE) {
    const piece = text.slice(at, at + PIECE + OVERLAP)
    const isQuick = isPlain(piece)
    // Far quicker than to take it apart.
    if (isQuick && !hasAny(piece.toLowerCase(), beginnings)) continue
    if (left <= 0) break
    left -= isQuick ? PIECE * PLAIN_COST : PIECE
    const tokens = tokensIn(text, at, at + PIECE + OVERLAP)
    const places = placesOf(tokens)
    for (const term of terms) {
      const found = hitsOf(term, tokens, places)
      if (found.length > 0) missing.delete(term)
      hits.push(...found)
    }
  }
  hits.sort((a, b) => a[0] - b[0] || b[1] - a[1])
  return hits.filter(([from], i) => i === 0 || from >= (hits[i - 1]?.[1] as number))
}

function hasAny(text: string, parts: readonly string[]): boolean {
  return parts.some((part) => text.includes(part))
}

function hitsOf({ forms, prefix }: Term, tokens: readonly Token[], places: ReadonlyMap<string, number[]>): Hit[] {
  const hits: Hit[] = []
  for (const form of forms) {
    const words = tokensOf(form)
      .slice(0, PHRASE)
      .map(({ word }) => word)
    for (const index of candidates(tokens, places, words, prefix)) {
      const last = tokens[index + words.length - 1]
      const isHit = words.every((word, i) => {
        const here = tokens[index + i]?.word
        return prefix && i === words.length - 1 ? here?.startsWith(word) : here === word
      })
      if (isHit && last !== undefined) hits.push([tokens[index]?.from as number, last.to])
      if (hits.length >= HITS * 4) return hits
    }
  }
  return hits
}

function placesOf(tokens: readonly Token[]): Map<string, number[]> {
  const places = new Map<string, number[]>()
  for (const [index, { word }] of tokens.entries()) {
    const known = places.get(word)
    if (known === undefined) places.set(word, [index])
    else known.push(index)
  }
  return places
}

function candidates(
  tokens: readonly Token[],
  places: ReadonlyMap<string, number[]>,
  [first]: readonly string[],
  prefix: boolean,
): Iterable<number> {
  if (first === undefined) return []
  return prefix ? tokens.keys() : (places.get(first) ?? [])
}

/** Where the piece begins that has most hits, with a little of what comes before. */
function beginOf(text: string, hits: readonly Hit[]): number {
  let [best, most] = [0, 0]
  for (const [i, [from]] of hits.entries()) {
    let count = 0
    while (i + count < hits.length && (hits[i + count]?.[1] as number) <= from + LENGTH * 0.75) count++
    if (count > most) [best, most] = [from, count]
  }
  return Math.max(0, Math.min(best - LENGTH / 4, text.length - LENGTH))
}

function wordBegin(text: string, at: number): number {
  const gap = text.slice(at, at + 20).search(/\s/)
  return gap === -1 ? wholeAt(text, at) : at + gap + 1
}

function wordEnd(text: string, at: number): number {
  const gap = text.slice(Math.max(0, at - 20), at).search(/\s\S*$/)
  return gap === -1 ? wholeAt(text, at) : Math.max(0, at - 20) + gap
}

/** Not between the halves of a character. */
function wholeAt(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text.charAt(at)) ? at + 1 : at
}

/** The words of a piece of a text, but for those that it has only a part of. */
function tokensIn(text: string, begin: number, end: number): Token[] {
  const isCut = (at: number): boolean => at > 0 && at < text.length
  return tokensOf(text.slice(begin, end))
    .map(({ from, to, word }) => ({ from: begin + from, to: begin + to, word }))
    .filter(({ from, to }) => !(isCut(from) && from === begin) && !(isCut(to) && to === end))
}

/** Words as the index has them: small, without accents, characters of scripts without spaces one by one. */
function tokensOf(text: string): Token[] {
  return isPlain(text) ? plainTokensOf(text) : anyTokensOf(text)
}

/** Most texts: several times as quick. */
function plainTokensOf(text: string): Token[] {
  const words = text.toLowerCase().matchAll(/[a-z0-9]+/g)
  return Array.from(words, ({ 0: word, index }) => ({ from: index, to: index + word.length, word }))
}

function anyTokensOf(text: string): Token[] {
  const tokens: Token[] = []
  for (const match of text.matchAll(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)) {
    let at = match.index
    for (const part of spaced(match[0]).split(' ')) {
      if (part === '') continue
      tokens.push({ from: at, to: at + part.length, word: isPlain(part) ? part.toLowerCase() : folded(part) })
      at += part.length
    }
  }
  return tokens
}

function isPlain(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  return /^[\x00-\x7f]*$/.test(text)
}

function folded(word: string): string {
  return decomposed(word).replace(/\p{M}/gu, '').toLowerCase()
}
