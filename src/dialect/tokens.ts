/** How many tokens a text takes, by estimate: no tokenizer is at hand while messages are written, and none would be right for every model. */

const ASCII = /^[\0-\x7f]*$/
/** Scripts that tokenizers cut into about one token a character. */
const DENSE = /[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]|[\ud840-\ud8bf][\udc00-\udfff]/g

export function estimateTokens(text: string): number {
  if (ASCII.test(text)) return Math.ceil(text.length / 4)
  const dense = text.match(DENSE)?.length ?? 0
  return Math.ceil(dense + (text.length - dense) / 3)
}
