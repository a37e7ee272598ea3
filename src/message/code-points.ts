/** Offsets in code points, counted without making an array of a text that may be megabytes long. */

/** How many code points a text has between two offsets in UTF-16 units. */
export function countCodePoints(text: string, from = 0, to: number = text.length): number {
  let count = 0
  for (let at = from; at < to; at += sizeAt(text, at)) count++
  return count
}

/** A slice of a text by code points. */
export function sliceCodePoints(text: string, from: number, to: number): string {
  let [at, count] = [0, 0]
  for (; at < text.length && count < from; at += sizeAt(text, at)) count++
  const begin = at
  for (; at < text.length && count < to; at += sizeAt(text, at)) count++
  return text.slice(begin, at)
}

function sizeAt(text: string, at: number): 1 | 2 {
  const isPair = (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
  return isPair ? 2 : 1
}
