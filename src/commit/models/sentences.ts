/**
 * Reads messages once, from the first character to the last, and tells their sentences, how often each term occurs, and where a path, an
 * address or an issue may stand. The time is linear in the text whatever the text is, which no set of regular expressions would promise.
 */
import { flagsOf, hashed, IGNORED, TERMS, termOf } from './lexicon.ts'

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
  /** The terms of all sentences, one behind the other. */
  readonly terms: Uint16Array
  /** How many of them there are. */
  count: number
  /** How often each term occurs. */
  readonly counts: Uint16Array
  /** Where references may stand: message and character by turns. */
  readonly marks: number[]
}

// The classes of characters. They are of this file alone because the engine reads an imported constant from memory each time, which made
// the loop below four times as slow.
const SPACE = 0
const LETTER = 1
/** Han, kana and Hangul. */
const DENSE = 2
const NEWLINE = 3
/** Ends a sentence if a space follows. */
const STOP = 4
/** Ends a sentence wherever it stands. */
const FULL_STOP = 5
const OTHER = 6

const LOWER = 0x20
const MOST = 0xffff
const NEWLINE_CODE = 0x0a

/** The class of every UTF-16 code unit. */
const CLASSES = classes()

export function scan(texts: readonly string[]): Scan {
  // Every term is followed by a character that is part of none, or is a character itself.
  const characters = texts.reduce((sum, text) => sum + text.length + 1, 0)
  const result: Scan = { sentences: [], terms: new Uint16Array(characters), count: 0, counts: new Uint16Array(TERMS), marks: [] }
  for (let message = 0; message < texts.length; message++) scanText(texts[message] as string, message, result)
  return result
}

/** One loop without closures: this is where the time goes. */
function scanText(text: string, message: number, into: Scan): void {
  const { terms, counts, marks, sentences } = into
  const { length } = text
  let [start, from, count] = [0, into.count, into.count]
  // What the words of the sentence tell, and the character before if it is of a script without spaces.
  let [flags, dense] = [0, 0]
  let [first, code, lineStart] = [true, false, true]
  for (let i = 0; i <= length; i++) {
    let char = i < length ? text.charCodeAt(i) : NEWLINE_CODE
    let kind = CLASSES[char] as number
    let word = 0
    if (kind === LETTER) {
      lineStart = false
      do {
        word = hashed(word, char | LOWER)
        char = ++i < length ? text.charCodeAt(i) : NEWLINE_CODE
        kind = CLASSES[char] as number
      } while (kind === LETTER)
    } else if (kind === DENSE && dense !== 0) word = hashed(dense, char)
    dense = kind === DENSE ? char : 0
    if (word !== 0) {
      const known = flagsOf(word)
      flags |= known
      if ((known & IGNORED) === 0) {
        const term = termOf(word)
        terms[count++] = term
        if ((counts[term] as number) < MOST) (counts[term] as number)++
      }
    }
    if (kind === SPACE || kind === DENSE) continue
    if ((char === 0x2f || char === 0x2e || char === 0x23 || char === 0x3a) && isMark(text, i, char)) marks.push(message, i)
    if (lineStart && char === 0x60 && text.startsWith('```', i)) code = !code
    lineStart = kind === NEWLINE
    if (kind === OTHER || (kind === STOP && !endsSentence(text, i))) continue
    const end = kind === NEWLINE ? i : i + 1
    if (end > start && (count > from || flags !== 0)) {
      sentences.push({ message, start, end, flags, first, question: char === 0x3f || char === 0xff1f, code, terms: from })
      first = false
    }
    start = i + 1
    from = count
    flags = 0
  }
  into.count = count
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

function classes(): Uint8Array {
  const table = new Uint8Array(1 << 16).fill(LETTER)
  const set = (from: number, to: number, kind: number): void => void table.fill(kind, from, to + 1)
  set(0x00, 0x20, SPACE)
  set(0x21, 0x2f, OTHER)
  set(0x3a, 0x40, OTHER)
  set(0x5b, 0x60, OTHER)
  set(0x7b, 0x9f, OTHER)
  set(0xa0, 0xa0, SPACE)
  set(0xa1, 0xbf, OTHER)
  set(0x2000, 0x206f, OTHER)
  set(0x3000, 0x303f, OTHER)
  set(0x1100, 0x11ff, DENSE)
  set(0x3041, 0x9fff, DENSE)
  set(0xac00, 0xd7a3, DENSE)
  set(0xf900, 0xfaff, DENSE)
  // Halves of pairs beyond the basic plane: mostly Han and emoji.
  set(0xd800, 0xdfff, DENSE)
  set(0xff00, 0xff0f, OTHER)
  set(0xff1a, 0xff20, OTHER)
  for (const code of [0x20, 0x3000, 0xfeff]) table[code] = SPACE
  for (const code of [0x0a, 0x0d, 0x2028, 0x2029]) table[code] = NEWLINE
  for (const mark of '.!?…') table[mark.charCodeAt(0)] = STOP
  for (const mark of '。！？｡．') table[mark.charCodeAt(0)] = FULL_STOP
  for (const mark of "_'’") table[mark.charCodeAt(0)] = LETTER
  return table
}
