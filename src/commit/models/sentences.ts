/**
 * Reads messages once, from the first character to the last, and tells their sentences, how often each term occurs, and where a path, an
 * address or an issue may stand. The time is linear in the text whatever the text is, which no set of regular expressions would promise.
 */
import { endianness } from 'node:os'
import { FLAGS, flagsOf, hashed } from './lexicon.ts'

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

// Constants of the loop below are of this file alone, and what a word is hashed to is written out in it: the engine reads what is imported from
// memory each time, which made the loop four times as slow.
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
/** As in the lexicon. */
const IGNORED = 1
const TERMS = 1 << 14
const MOST = 0xffff
const NEWLINE_CODE = 0x0a

/** The class of every UTF-16 code unit. */
const CLASSES = classes()

/** Used again by every scan, since new ones each time would keep the garbage collector busy; larger ones are not kept. */
const KEPT_CHARACTERS = 1 << 19
const [keptCodes, keptTerms, counts] = [new Uint16Array(KEPT_CHARACTERS), new Uint16Array(KEPT_CHARACTERS), new Uint16Array(TERMS)]
const isBigEndian = endianness() === 'BE'

/** What it tells holds until the next call. */
export function scanSentences(texts: readonly string[]): Scan {
  // Every term is followed by a character that is part of none, or is a character itself.
  const characters = texts.reduce((sum, text) => sum + text.length + 1, 0)
  const longest = texts.reduce((most, text) => Math.max(most, text.length), 0)
  const terms = characters <= KEPT_CHARACTERS ? keptTerms : new Uint16Array(characters)
  const codes = longest + 2 <= KEPT_CHARACTERS ? keptCodes : new Uint16Array(longest + 2)
  const result: Scan = { sentences: [], terms, count: 0, counts: counts.fill(0), marks: [] }
  for (const [message, text] of texts.entries()) scanCodes(codesOf(text, codes), text.length, message, result)
  return result
}

/** A text as code units, and two ends of lines behind it: read from an array, a character takes a third of the time that it takes from a string. */
function codesOf(text: string, codes: Uint16Array): Uint16Array {
  const bytes = Buffer.from(codes.buffer, 0, 2 * text.length)
  bytes.write(text, 'utf16le')
  if (isBigEndian) bytes.swap16()
  codes.fill(NEWLINE_CODE, text.length, text.length + 2)
  return codes
}

/** One loop without closures: this is where the time goes. */
function scanCodes(codes: Uint16Array, length: number, message: number, into: Scan): void {
  const { terms, counts, marks, sentences } = into
  const [classes, wordFlags] = [CLASSES, FLAGS]
  let [start, from, count] = [0, into.count, into.count]
  // What the words of the sentence tell, and the character before if it is of a script without spaces.
  let [flags, dense] = [0, 0]
  let [first, code, lineStart] = [true, false, true]
  for (let i = 0; i <= length; i++) {
    let char = codes[i] as number
    let kind = classes[char] as number
    let word = 0
    if (kind === LETTER) {
      lineStart = false
      do {
        word = (Math.imul(word, 31) + (char | LOWER)) | 0
        char = codes[++i] as number
        kind = classes[char] as number
      } while (kind === LETTER)
    } else if (kind === DENSE && dense !== 0) word = hashed(dense, char)
    dense = kind === DENSE ? char : 0
    if (word !== 0) {
      const term = (word ^ (word >>> 14)) & (TERMS - 1)
      // As a rule nothing is known of a word, and that is all there is to find out.
      const known = wordFlags[term] === 0 ? 0 : flagsOf(word, term)
      flags |= known
      if ((known & IGNORED) === 0) {
        terms[count++] = term
        if ((counts[term] as number) < MOST) (counts[term] as number)++
      }
    }
    if (kind === SPACE || kind === DENSE) continue
    if ((char === 0x2f || char === 0x2e || char === 0x23 || char === 0x3a) && isMark(codes, i, char)) marks.push(message, i)
    if (lineStart && char === 0x60 && codes[i + 1] === 0x60 && codes[i + 2] === 0x60) code = !code
    lineStart = kind === NEWLINE
    if (kind === OTHER || (kind === STOP && !endsSentence(codes, i))) continue
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
function endsSentence(codes: Uint16Array, i: number): boolean {
  const next = codes[i + 1] as number
  const closing = next === 0x22 || next === 0x27 || next === 0x29 || next === 0x201d
  const after = CLASSES[closing ? (codes[i + 2] as number) : next]
  if (after !== SPACE && after !== NEWLINE && after !== DENSE) return false
  return codes[i] !== 0x2e || !isLetterAt(codes, i - 1) || isLetterAt(codes, i - 2)
}

function isLetterAt(codes: Uint16Array, i: number): boolean {
  return i >= 0 && CLASSES[codes[i] as number] === LETTER
}

/** A slash, the dot of a file's name, the number of an issue, or a drive's colon. */
function isMark(codes: Uint16Array, i: number, char: number): boolean {
  if (char === 0x2f) return true
  const next = codes[i + 1] as number
  if (char === 0x2e) return isAsciiLetter(next) && isLetterAt(codes, i - 1)
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
