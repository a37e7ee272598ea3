/** Numbers of things in sentences for people. */

/** `1 line`, `2 lines`. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`
}

/** A verb, or other word, that depends on a number. */
export function byNumber(number: number, one: string, many: string): string {
  return number === 1 ? one : many
}
