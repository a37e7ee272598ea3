/** Texts for databases that cannot hold a NUL. Escaped in both directions, so that any text comes back as it was. */
const ESCAPE = '\ue000'
const ESCAPED_NUL = `${ESCAPE}0`
const ESCAPED_ESCAPE = `${ESCAPE}1`

export function withoutNul(text: string): string {
  if (!(text.includes('\0') || text.includes(ESCAPE))) return text
  return text.replaceAll(ESCAPE, ESCAPED_ESCAPE).replaceAll('\0', ESCAPED_NUL)
}

/** Whether something was escaped. */
export function isWithoutNul(text: string): boolean {
  return text.includes(ESCAPE)
}

export function withNul(text: string): string {
  return isWithoutNul(text) ? text.replaceAll(ESCAPED_NUL, '\0').replaceAll(ESCAPED_ESCAPE, ESCAPE) : text
}
