/**
 * An overview as sections of one-line items, and as Markdown. Every overview that Holdfast makes has the same headings, so that the next
 * one can take it apart again, whichever model made it: parsing what was rendered gives the same sections.
 */

export const SECTIONS = ['goal', 'state', 'facts', 'references', 'errors', 'questions'] as const
export type Section = (typeof SECTIONS)[number]
export type Sections = { readonly [section in Section]: readonly string[] }

export const HEADINGS: { readonly [section in Section]: string } = {
  goal: 'Goal',
  state: 'Current state',
  facts: 'Decisions and facts',
  references: 'Files and references',
  errors: 'Errors and corrections',
  questions: 'Open questions',
}

/** How many items a section has at most, and how many bytes all of them together. */
const BOUNDS: { readonly [section in Section]: readonly [items: number, bytes: number] } = {
  goal: [2, 500],
  state: [4, 700],
  facts: [8, 1100],
  references: [12, 600],
  errors: [6, 700],
  questions: [5, 400],
}
const NONE = '(none)'
/** More than any overview has; what comes behind is not read. */
const LONGEST = 64 * 1024

export const EMPTY: Sections = { goal: [], state: [], facts: [], references: [], errors: [], questions: [] }

/** Takes an overview apart, also one that another model wrote. Text under a heading that is not known counts as facts. */
export function parseOverview(overview: string): Sections {
  const sections = Object.fromEntries(SECTIONS.map((section) => [section, [] as string[]])) as { [section in Section]: string[] }
  let current: Section = 'facts'
  for (const line of overview.slice(0, LONGEST).split('\n')) {
    const heading = /^#{1,6} (.*)$/.exec(line)
    if (heading !== null) {
      const name = (heading[1] ?? '').trim().toLowerCase()
      current = SECTIONS.find((section) => HEADINGS[section].toLowerCase() === name) ?? 'facts'
      continue
    }
    const item = oneLine(line.replace(/^ {0,8}(?:[-*•+]|\d{1,3}[.)]) /, ''))
    if (item !== '' && item !== NONE) sections[current].push(item)
  }
  return sections
}

/** As Markdown, within the bounds times `scale`: of too many items the oldest go, which stand first. */
export function renderOverview(sections: Sections, scale = 1): string {
  return SECTIONS.map((section) => {
    const items = bounded(section, sections[section], scale)
    return `## ${HEADINGS[section]}\n\n${(items.length === 0 ? [NONE] : items).map((item) => `- ${item}`).join('\n')}\n`
  }).join('\n')
}

function bounded(section: Section, items: readonly string[], scale: number): string[] {
  const [most, bytes] = BOUNDS[section]
  const kept: string[] = []
  let left = bytes * scale
  const unique = new Set<string>()
  // The goal's first item says what all of it is for, and stays.
  const order = section === 'goal' ? [items[0] ?? '', ...items.slice(1).toReversed()] : items.toReversed()
  for (const item of order) {
    const text = clip(oneLine(item), Math.floor((bytes * scale) / 2.5))
    const size = Buffer.byteLength(text)
    if (text === '' || text === NONE || unique.has(text)) continue
    if (kept.length === most * scale || size > left) break
    unique.add(text)
    kept.push(text)
    left -= size
  }
  return section === 'goal' ? [...kept.slice(0, 1), ...kept.slice(1).toReversed()] : kept.toReversed()
}

/** Anything but visible characters with single spaces between them. */
const UNEVEN = /\p{Cc}|[^\S ]| {2}/u

/** On one line, without control characters and halves of pairs. */
export function oneLine(text: string): string {
  const whole = text.toWellFormed()
  return (UNEVEN.test(whole) ? whole.replace(/[\s\p{Cc}]+/gu, ' ') : whole).trim()
}

/** The beginning of a text, at most so many bytes, cut between words where there are any. */
export function clip(text: string, bytes: number): string {
  // No character takes more than three bytes for each of its units.
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text
  const limit = bytes - 3
  let [used, end] = [0, 0]
  for (const character of text) {
    const size = Buffer.byteLength(character)
    if (used + size > limit) break
    used += size
    end += character.length
  }
  const space = text.lastIndexOf(' ', end)
  return `${text.slice(0, space > end * 0.7 ? space : end).trimEnd()}…`
}
