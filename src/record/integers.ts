import { closingQuote } from './json-shape.ts'

const MOST_DIGITS = 40

/** An integer in a JSON text that a reader would round. Texts are skipped: digits inside them are no numbers. The text need not be valid JSON. */
export function roundedInteger(json: string): string | undefined {
  const token = /\d{16}|"/g
  for (let found = token.exec(json); found !== null; found = token.exec(json)) {
    const { index } = found
    if (found[0] === '"') {
      const end = closingQuote(json, index)
      if (end === -1) return undefined
      token.lastIndex = end + 1
      continue
    }
    while (isDigit(json.charCodeAt(token.lastIndex))) token.lastIndex++
    if (isFraction(json, index, token.lastIndex)) continue
    const digits = json.slice(index, token.lastIndex)
    if (!Number.isSafeInteger(Number(digits))) return shortened(json[index - 1] === '-' ? `-${digits}` : digits)
  }
  return undefined
}

/** Whether the digits from `from` to `to` are a part of a number with a point or an exponent. */
function isFraction(json: string, from: number, to: number): boolean {
  const before = json[from - 1]
  return isMark(json[to]) || isMark(before) || ((before === '-' || before === '+') && isMark(json[from - 2]))
}

function isMark(char: string | undefined): boolean {
  return char === '.' || char === 'e' || char === 'E'
}

/** It is shown to the caller, and may have a million digits. */
function shortened(digits: string): string {
  return digits.length > MOST_DIGITS ? `${digits.slice(0, MOST_DIGITS)}…` : digits
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}
