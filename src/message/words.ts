/**
 * Words, as they are put and as they are looked for. FTS5 takes letters and digits for words and everything else for gaps; scripts without
 * spaces would be one word a sentence, so every character of those stands alone, on both sides, and several in a row are a phrase.
 */

import { invalid } from '../session/check.ts'
import type { Term, TextQuery } from './text-query.ts'

const DENSE_CHARACTER =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu
/** Cheap to look for first: most texts have none. */
const MAY_BE_DENSE = /[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\uffff]/

/** A text with its characters of scripts without spaces standing alone. */
export function spaced(text: string): string {
  return MAY_BE_DENSE.test(text) ? text.replace(DENSE_CHARACTER, ' $& ') : text
}

/**
 * A text with its accents as characters of their own. Of a letter with many marks, it keeps the first few: putting marks in order takes a time
 * that grows with the square of their number, and no language has more than three.
 */
export function decomposed(text: string): string {
  return text.replace(/(\p{M}{8})\p{M}+/gu, '$1').normalize('NFD')
}

/** Longer ones are looked for by their beginning. */
const WORD_LENGTH = 255

/** The words of a text in their order, in small letters, without accents: for indexes that take words one by one. */
export function wordsIn(text: string): string[] {
  const plain = decomposed(spaced(text))
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
  return (plain.match(/[\p{L}\p{M}\p{N}\p{Co}]+/gu) ?? []).map((word) =>
    word.length > WORD_LENGTH ? word.slice(0, WORD_LENGTH).toWellFormed() : word,
  )
}

/** Terms beyond these are not looked for. */
const MOST_TERMS = 32
const WORD = /[\p{L}\p{N}\p{Co}]/u
/** Of a longer text, only its beginning is looked for. */
const QUERY_LENGTH = 2000
/** Longer words have no forms in any language that forms are made for. */
const LONGEST_FORM = 40

/** What a person types: words, all of which must be there; "several in a row"; and the beginning* of one. */
export function parseQuery(query: string): TextQuery {
  const terms: Term[] = []
  for (const [, phrase, word] of query.slice(0, QUERY_LENGTH).matchAll(/"([^"]*)"?|([^\s"]+)/g)) {
    if (terms.length === MOST_TERMS) break
    const text = (phrase ?? word ?? '').toWellFormed()
    if (!WORD.test(text)) continue
    if (phrase !== undefined) terms.push({ forms: [text], prefix: false })
    else if (/[\p{L}\p{N}]{2}\*$/u.test(text)) terms.push({ forms: [text.slice(0, -1)], prefix: true })
    else terms.push({ forms: formsOf(text), prefix: false })
  }
  if (terms.length === 0) throw invalid('There is no word to search for. Give at least one letter or digit.')
  return { any: false, terms }
}

/** What a sentence is about: its words, any of which may be there. Undefined if it has none. */
export function looseQuery(sentence: string): TextQuery | undefined {
  const words = new Set<string>()
  for (const [run] of sentence
    .slice(0, QUERY_LENGTH)
    .toWellFormed()
    .matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    for (const word of wordsOf(run)) words.add(word)
    if (words.size >= MOST_TERMS) break
  }
  const telling = [...words].filter((word) => !EMPTY.has(word))
  const chosen = telling.length > 0 ? telling : [...words]
  return chosen.length === 0 ? undefined : { any: true, terms: chosen.map((word) => ({ forms: formsOf(word), prefix: false })) }
}

/** A word of a script with spaces, or of one without, every pair of characters: one alone is in almost every text. */
function* wordsOf(run: string): Generator<string> {
  for (const part of spaced(run).matchAll(/\S+(?: {2}\S+)*/g)) {
    const characters = part[0].split(/\s+/)
    if (characters.length < 3) yield characters.join('').toLowerCase()
    else for (let i = 1; i < characters.length; i++) yield `${characters[i - 1]}${characters[i]}`
  }
}

/** Words that stand in every text and tell nothing. */
const EMPTY = new Set(
  (
    'a about all also am an and any are as at be been but by can could did do does for from had has have he her him his how i if in into is it ' +
    'its just me my no not of on one or our out she should so some than that the their them then there these they this to up us was we were ' +
    'what when where which who why will with would you your'
  ).split(' '),
)

const ENDINGS = ['', 's', 'es', 'ed', 'd', 'ing', 'er', 'ers', 'ly']

/**
 * The forms of an English word: what it may be written as, itself first. Looking for all of them finds what a stemmer would, and leaves
 * phrases, names and other languages as they are. Those that are no words cost next to nothing: no text has them.
 */
export function formsOf(word: string): string[] {
  const small = word.toLowerCase()
  if (small.length > LONGEST_FORM || !/^[a-z]{4,}$/.test(small)) return [word]
  const forms = new Set([small])
  for (const stem of stemsOf(small)) {
    for (const ending of ENDINGS) forms.add(stem + ending)
    if (stem.endsWith('y')) for (const ending of ['ies', 'ied']) forms.add(stem.slice(0, -1) + ending)
    if (stem.endsWith('e')) forms.add(`${stem.slice(0, -1)}ing`)
    if (/[^aeiou][aeiou][bdfgklmnprt]$/.test(stem)) for (const ending of ['ed', 'ing', 'er']) forms.add(stem + stem.at(-1) + ending)
  }
  return [...forms]
}

/** What a word may be a form of. */
function stemsOf(word: string): Set<string> {
  const stems = new Set<string>()
  const add = (stem: string): void => {
    if (stem.length >= 3) stems.add(stem)
  }
  if (/[^aeiou]ies$|[^aeiou]ied$/.test(word)) add(`${word.slice(0, -3)}y`)
  else if (/(?:s|x|z|ch|sh)es$/.test(word)) add(word.slice(0, -2))
  else if (/[^su]s$/.test(word)) add(word.slice(0, -1))
  const [, past] = /^(.*[aeiouy].*?)(?:ed|ing|ers?|ly)$/.exec(word) ?? []
  if (past !== undefined) {
    add(past)
    if (!/ly$/.test(word)) add(`${past}e`)
    if (/([bdfgklmnprt])\1$/.test(past)) add(past.slice(0, -1))
  }
  if (stems.size === 0 || !/(?:ed|ing|[^s]s)$/.test(word)) add(word)
  return stems
}
