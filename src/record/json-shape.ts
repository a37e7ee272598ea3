/** The shape of a JSON text, seen without parsing it: how deep it is nested, and how many values it has. The text need not be valid JSON. */

export interface ShapeLimits {
  readonly depth: number
  readonly values?: number
}

/** Which limit a text exceeds. Each value but the outermost follows a comma or a bracket, so that they are counted by those; a list with nothing in it counts as two. */
export function exceededShape(json: string, { depth, values = Number.POSITIVE_INFINITY }: ShapeLimits): keyof ShapeLimits | undefined {
  let [level, count] = [0, 1]
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (code === QUOTE) {
      i = closingQuote(json, i)
      if (i === -1) return undefined
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++level > depth) return 'depth'
      if (++count > values) return 'values'
    } else if (code === COMMA && ++count > values) return 'values'
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) level--
  }
  return undefined
}

/** Where the text that begins with the quote at `open` ends; -1 if it never does. */
export function closingQuote(json: string, open: number): number {
  let close = json.indexOf('"', open + 1)
  while (close !== -1 && isEscaped(json, close)) close = json.indexOf('"', close + 1)
  return close
}

function isEscaped(json: string, at: number): boolean {
  let backslashes = 0
  while (json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
