/**
 * Texts as the words that PostgreSQL keeps of them, and what is looked for in them. Both are written as PostgreSQL writes its own values, and not
 * left to one of its parsers: those take paths and addresses for one word, know no scripts without spaces, and differ by the server's language.
 *
 * Beside its words a text has marks, which begin with a sign that no word has: what it is of, and the blocks that its number falls into. A condition
 * on marks is part of the match, and the index decides it before a row is read. So the newest texts that have a word are found by looking at no
 * others, however many have it; PostgreSQL itself knows no order among those that an index of words finds.
 */
import { hash } from 'node:crypto'
import type { DocumentKind } from '../../../engine/catalog.ts'
import type { Term, TextQuery } from '../../../message/text-query.ts'
import { wordsIn } from '../../../message/words.ts'

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

interface Marked {
  readonly space: string
  readonly sid: string
  readonly kind: DocumentKind
  readonly role: string
  readonly doc: number
}

/** Blocks of numbers, as powers of two. */
const BLOCK_BITS = [13, 17, 21]
/** So many blocks are asked for at most. */
const MOST_BLOCKS = 16

/** The marks of a text, as a part of its tsvector. */
export function marksOfText({ space, sid, kind, role, doc }: Marked): string {
  const blocks = BLOCK_BITS.map((bits) => blockMark(bits, Math.floor(doc / 2 ** bits)))
  return [spaceMark(space), sessionMark(sid), kindMark(kind), roleMark(role), ...blocks].map((mark) => `'${mark}'`).join(' ')
}

export const spaceMark = (space: string): string => `@p${hash('sha256', space, 'hex').slice(0, 16)}`
export const sessionMark = (sid: string): string => `@s${sid}`
export const kindMark = (kind: DocumentKind): string => `@k${kind}`
/** Four roles are usual, but a role may be any text. */
export const roleMark = (role: string): string => `@r${/^[a-z]{0,16}$/.test(role) ? role : hash('sha256', role, 'hex').slice(0, 16)}`

/** The marks of texts from one number to another; a few before the first may have them too. Undefined if those would be too many marks. */
export function blockMarks(first: number, last: number): string[] | undefined {
  for (const bits of BLOCK_BITS) {
    const [from, to] = [Math.floor(first / 2 ** bits), Math.floor(last / 2 ** bits)]
    if (to - from < MOST_BLOCKS) return Array.from({ length: to - from + 1 }, (_, i) => blockMark(bits, from + i))
  }
  return undefined
}

function blockMark(bits: number, block: number): string {
  return `@${bits}.${block}`
}

/** Any of some marks, as a part of a tsquery. */
export function anyMark(marks: readonly string[]): string {
  return `(${marks.map((mark) => `'${mark}'`).join(' | ')})`
}

/** What is looked for, as the text of a tsquery; undefined if it has no words. `loosely`: words in a row may stand anywhere. */
export function queryOf({ any, terms }: TextQuery, { loosely = false } = {}): string | undefined {
  const parts = terms.map((term) => termOf(term, loosely ? ' & ' : ' <-> ')).filter((term) => term !== undefined)
  return parts.length === 0 ? undefined : `(${parts.join(any ? ' | ' : ' & ')})`
}

function termOf({ forms, prefix }: Term, between: string): string | undefined {
  const parts = forms.map((form) => formOf(form, prefix, between)).filter((form) => form !== undefined)
  return parts.length === 0 ? undefined : `(${parts.join(' | ')})`
}

function formOf(form: string, prefix: boolean, between: string): string | undefined {
  const words = wordsIn(form).map((word) => `'${word}'`)
  if (words.length === 0) return undefined
  return `(${words.join(between)}${prefix ? ':*' : ''})`
}
