const MOST_DIGITS = 40

/** An integer in a JSON text that a reader would round. Texts are skipped: digits inside them are no numbers. The text need not be valid JSON. */
export function roundedInteger(json: string): string | undefined {
  const token = /\d{16}|"/g
  for (let found = token.exec(json); found !== null; found = token.exec(json)) {
    const { index } = found
    if (found[0] === '"') {
      const end = endOfText(json, index)
      if (end === undefined) return undefined
      token.lastIndex = end
      continue
    }
    while (isDigit(json.charCodeAt(token.lastIndex))) token.lastIndex++
    const digits = json.slice(index, token.lastIndex)
    const before = json.slice(Math.max(0, index - 2), index)
    const isInteger = !/[.eE]/.test(json.charAt(token.lastIndex)) && !/(?:\.|[eE][+-]?)$/.test(before)
    if (isInteger && !Number.isSafeInteger(Number(digits))) return shortened(before.endsWith('-') ? `-${digits}` : digits)
  }
  return undefined
}

/** It is shown to the caller, and may have a million digits. */
function shortened(digits: string): string {
  return digits.length > MOST_DIGITS ? `${digits.slice(0, MOST_DIGITS)}…` : digits
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** Behind the text that begins with the quote at `open`; undefined if it never ends. */
function endOfText(json: string, open: number): number | undefined {
  let close = json.indexOf('"', open + 1)
  while (close !== -1 && isEscaped(json, close)) close = json.indexOf('"', close + 1)
  return close === -1 ? undefined : close + 1
}

function isEscaped(json: string, at: number): boolean {
  let backslashes = 0
  while (json.charAt(at - 1 - backslashes) === '\\') backslashes++
  return backslashes % 2 === 1
}
