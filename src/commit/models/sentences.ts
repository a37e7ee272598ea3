/**
 * Reads messages once, from the first character to the last, and tells their sentences, how often each term occurs, and where a path, an
 * address or an issue may stand. The time is linear in the text whatever the text is, which no set of regular expressions would promise.
 */
import { CLASSES, DENSE, FULL_STOP, flagsOf, hashed, IGNORED, LETTER, NEWLINE, SPACE, STOP, TERMS, termOf } from './lexicon.ts'

export interface Sentence {
  /** The index of its message. */
  readonly message: number
  readonly start: number
  readonly end: number
  /** What its words tell. */
  readonly flags: number
  /** The first of its message. */
  readonly first: boolean
  readonly question: boolean
  /** Stands between fences. */
  readonly code: boolean
  /** Its terms are those from here up to the next sentence's. */
  readonly terms: number
}

export interface Scan {
  readonly sentences: Sentence[]
  readonly terms: number[]
  readonly counts: Uint16Array
  /** Where references may stand: message and character by turns. */
  readonly marks: number[]
}

const LOWER = 0x20
const MOST = 0xffff

export function scan(texts: readonly string[]): Scan {
  const result: Scan = { sentences: [], terms: [], counts: new Uint16Array(TERMS), marks: [] }
  texts.forEach((text, message) => {
    scanText(text, message, result)
  })
  return result
}

function scanText(text: string, message: number, { sentences, terms, counts, marks }: Scan): void {
  let start = 0
  let from = terms.length
  let flags = 0
  let hash = 0
  let dense = 0
  let code = false
  let first = true
  let lineStart = true
  const addTerm = (of: number): void => {
    const known = flagsOf(of)
    flags |= known
    if ((known & IGNORED) !== 0) return
    const term = termOf(of)
    terms.push(term)
    const count = counts[term] as number
    if (count < MOST) counts[term] = count + 1
  }
  const endSentence = (end: number, question: boolean): void => {
    if (end > start && terms.length + flags > from) {
      sentences.push({ message, start, end, flags, first, question, code, terms: from })
      first = false
    }
    start = end
    from = terms.length
    flags = 0
  }
  for (let i = 0; i < text.length; i++) {
    if (lineStart && text.charCodeAt(i) === 0x60 && text.startsWith('```', i)) code = !code
    lineStart = false
    let char = text.charCodeAt(i)
    const kind = CLASSES[char] as number
    if (kind === LETTER) {
      if (char <= 0x5a && char >= 0x41) char |= LOWER
      else if (char === 0x2019) char = 0x27
      hash = hashed(hash, char)
      dense = 0
      continue
    }
    if (hash !== 0) {
      addTerm(hash)
      hash = 0
    }
    if (kind === DENSE) {
      if (dense !== 0) addTerm(hashed(hashed(0, dense), char))
      dense = char
      continue
    }
    dense = 0
    if (kind === SPACE) continue
    if (isMark(text, i, char)) marks.push(message, i)
    if (kind === NEWLINE) {
      endSentence(i, false)
      start = i + 1
      lineStart = true
    } else if (kind === FULL_STOP || (kind === STOP && endsSentence(text, i))) endSentence(i + 1, char === 0x3f || char === 0xff1f)
  }
  if (hash !== 0) addTerm(hash)
  endSentence(text.length, false)
}

/** A space or nothing follows, and what precedes is no abbreviation of one letter, such as `e.g.`. */
function endsSentence(text: string, i: number): boolean {
  const next = text.charCodeAt(i + 1)
  const closing = next === 0x22 || next === 0x27 || next === 0x29 || next === 0x201d
  const after = CLASSES[closing ? text.charCodeAt(i + 2) : next]
  if (after !== undefined && after !== SPACE && after !== NEWLINE && after !== DENSE) return false
  return text.charCodeAt(i) !== 0x2e || CLASSES[text.charCodeAt(i - 1)] !== LETTER || CLASSES[text.charCodeAt(i - 2)] === LETTER
}

/** A slash, the dot of a file's name, the number of an issue, or a drive's colon. */
function isMark(text: string, i: number, char: number): boolean {
  if (char === 0x2f) return true
  const next = text.charCodeAt(i + 1)
  if (char === 0x2e) return isAsciiLetter(next) && CLASSES[text.charCodeAt(i - 1)] === LETTER
  if (char === 0x23) return next >= 0x30 && next <= 0x39
  return char === 0x3a && next === 0x5c
}

function isAsciiLetter(char: number): boolean {
  const lower = char | LOWER
  return lower >= 0x61 && lower <= 0x7a
}
