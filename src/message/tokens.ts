/** How many tokens a text takes, by estimate: no tokenizer is at hand while messages are written, and none would be right for every model. */

/** `bytes`: how many it takes, where that is known. */
export function estimateTokens(text: string, bytes = Buffer.byteLength(text)): number {
  if (bytes === text.length) return estimateTokensOfPlain(bytes)
  let dense = 0
  for (let i = 0; i < text.length; i++) if (isDense(text.charCodeAt(i))) dense++
  return Math.ceil(dense + (text.length - dense) / 3)
}

/** Of plain ASCII, which is the most frequent, and has as many bytes as characters. */
export function estimateTokensOfPlain(bytes: number): number {
  return Math.ceil(bytes / 4)
}

/** Scripts that tokenizers cut into about one token a character; of a pair beyond the basic plane only the first half counts as one. */
function isDense(char: number): boolean {
  if (char < 0x1100) return false
  return (
    char <= 0x11ff ||
    (char >= 0x2e80 && char <= 0x9fff) ||
    (char >= 0xa960 && char <= 0xa97f) ||
    (char >= 0xac00 && char <= 0xdbff) ||
    (char >= 0xf900 && char <= 0xfaff) ||
    (char >= 0xff00 && char <= 0xffef)
  )
}
