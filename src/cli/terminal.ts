/**
 * Text on a terminal. Whatever comes from a transcript may be hostile: a terminal obeys escape sequences, and bidirectional overrides make
 * a line read as another. So nothing is printed that acts instead of being seen: it is shown escaped. Widths are those of a terminal, where
 * a Chinese character or an emoji takes two cells and a combining mark none.
 */

/** Controls (C0, DEL, C1), invisible formats, line separators, lone surrogates; but for joiners, and number signs that can be seen. */
const ACTING = /(?!\u200c|\u200d|[\u0600-\u0605\u06dd\u070f\u08e2])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** For a cell or a message of one line: line breaks are escaped too. */
export function inLine(text: string): string {
  return text.replace(ACTING, escaped)
}

/** For content of several lines: line breaks and tabs stay. */
export function inBlock(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(ACTING, (character) => (character === '\n' || character === '\t' ? character : escaped(character)))
}

function escaped(character: string): string {
  const named = NAMED[character]
  if (named !== undefined) return named
  const code = character.codePointAt(0) as number
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`
}

/** One line of JSON. What JSON itself may leave as it is, DEL and C1 and the rest, is escaped as JSON does it. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(ACTING, (character) => {
    const units = character.split('')
    return units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
  })
}

const PLAIN = /^[ -~]*$/
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{17000}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u

let segmenter: Intl.Segmenter | undefined

/** What a reader takes for one character each. */
function charactersOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

function cellsOf(character: string): number {
  if (NO_WIDTH.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}

/** How many cells of a terminal a text takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  return charactersOf(text).reduce((sum, character) => sum + cellsOf(character), 0)
}

/** The text, or as much of it as fits into so many cells, with an ellipsis. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let left = width - 1
  for (const character of charactersOf(text)) {
    left -= cellsOf(character)
    if (left < 0) break
    kept += character
  }
  return width > 0 ? `${kept}…` : ''
}

export interface Column {
  readonly title: string
  readonly align?: 'right'
  /** May be cut if the terminal is too narrow. */
  readonly shrinks?: boolean
  readonly style?: (text: string) => string
}

const GAP = '  '
const LEAST_WIDTH = 8

/** Lines of a table with aligned columns, the titles first. Cells are escaped here. A column with nothing in it is left out. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  bold: (text: string) => string,
): string[] {
  const cells = rows.map((row) => row.map(inLine))
  const used = columns.map((column, index) => ({ column, index })).filter(({ index }) => cells.some((row) => row[index] !== ''))
  const natural = used.map(({ column, index }) => Math.max(widthOf(column.title), ...cells.map((row) => widthOf(row[index] ?? ''))))
  const widths = fitted(
    natural,
    used.map(({ column }) => column.shrinks === true),
    width,
  )
  const lineOf = (row: readonly string[], style: (column: Column, text: string) => string): string =>
    used
      .map(({ column, index }, i) => style(column, aligned(row[index] ?? '', widths[i] as number, column.align === 'right')))
      .join(GAP)
      .trimEnd()
  const titles = columns.map(({ title }) => title)
  return [lineOf(titles, (_, text) => bold(text)), ...cells.map((row) => lineOf(row, ({ style = String }, text) => style(text)))]
}

function aligned(text: string, width: number, right: boolean): string {
  const shown = cut(text, width)
  const space = ' '.repeat(width - widthOf(shown))
  return right ? space + shown : shown + space
}

/** Takes from the widest column that may shrink, until all fit or none can. */
function fitted(natural: readonly number[], shrinks: readonly boolean[], width: number): number[] {
  const widths = [...natural]
  let excess = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1) - width
  while (excess > 0) {
    const widest = widths.reduce((best, one, i) => (shrinks[i] && one > LEAST_WIDTH && one > (widths[best] ?? 0) ? i : best), -1)
    if (widest === -1) return widths
    const taken = Math.min(excess, Math.max(1, Math.ceil((widths[widest] as number) / 8)), (widths[widest] as number) - LEAST_WIDTH)
    widths[widest] = (widths[widest] as number) - taken
    excess -= taken
  }
  return widths
}

const UNITS = [
  ['s', 1000],
  ['min', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
] as const

/** A time as people say it: `3 min ago`, `in 6 d`; a date if it is more than 30 days away. */
export function relativeTime(at: string, now: number): string {
  const distance = now - Date.parse(at)
  if (Number.isNaN(distance)) return ''
  const size = Math.abs(distance)
  if (size < 5000) return 'now'
  if (size > 30 * 86_400_000) return at.slice(0, 10)
  const [unit, length] = UNITS.findLast(([, one]) => size >= one) ?? UNITS[0]
  return distance > 0 ? `${Math.floor(size / length)} ${unit} ago` : `in ${Math.round(size / length)} ${unit}`
}
