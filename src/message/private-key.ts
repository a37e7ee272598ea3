/**
 * The end of a private key in a text. It reads the parts one after the other and never steps back, so that no text takes longer than its
 * length: a pattern with optional headers inside it would try every way to divide a text among them.
 */

const BEGIN = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y
const END = /-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y
/** Between the parts: white space, or a line end of JSON inside a text. */
const GAP = /(?:\s|\\{1,8}[nr]){1,20}/y
const HEADER_NAME = /[A-Z][A-Za-z-]{3,20}: /y
/** Up to the end of its line, or up to a space where the whole key is on one line. */
const HEADER_VALUE = /[^\n\\]{0,100}(?=[\n\\])|[^\s\\]{0,100}/y
const HEADERS = 4
const FIRST_LINE = /[A-Za-z0-9+/=]{20}/y
const BODY = /(?:[A-Za-z0-9+/=\s]|\\{1,8}[nr]){20,20000}/y

/** Where the private key ends that begins at a place of the text; undefined if there is none. A key whose end is cut off is one, too. */
export function privateKeyEnd(text: string, at: number): number | undefined {
  const afterBegin = after(BEGIN, text, at)
  if (afterBegin === undefined) return undefined
  const bodyAt = afterHeaders(text, after(GAP, text, afterBegin) ?? afterBegin)
  if (after(FIRST_LINE, text, bodyAt) === undefined) return undefined
  const bodyEnd = after(BODY, text, bodyAt) ?? bodyAt
  return after(END, text, bodyEnd) ?? bodyEnd
}

function afterHeaders(text: string, from: number): number {
  let at = from
  for (let count = 0; count < HEADERS; count++) {
    const value = after(HEADER_NAME, text, at)
    const gap = value === undefined ? undefined : after(HEADER_VALUE, text, value)
    const next = gap === undefined ? undefined : after(GAP, text, gap)
    if (next === undefined) return at
    at = next
  }
  return at
}

function after(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}
