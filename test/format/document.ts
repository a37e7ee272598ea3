/** docs/format.md, taken apart: its sections, the names in its tables, and its examples. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../tidy/sources.ts'

const TEXT = readFileSync(join(ROOT, 'docs/format.md'), 'utf8')

/** The text below a heading, up to the next heading of any level. */
export function section(heading: string): string {
  const sections = TEXT.split(/^(?=#{1,6} )/m)
  const found = sections.find((one) => one.slice(0, one.indexOf('\n')).replace(/^#+ /, '') === heading)
  if (found === undefined) throw new Error(`docs/format.md has no section "${heading}"`)
  return found
}

/** What the first column of the tables in a section names. */
export function namesIn(heading: string): Set<string> {
  const cells = section(heading).match(/^\| (`[^|]*) \|/gm) ?? []
  return new Set(cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string)))
}

/** The lines of the fenced blocks that are marked with this. */
export function examples(mark: string, text = TEXT): string[] {
  const blocks = [...text.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].filter((match) => match[1] === mark)
  return blocks.flatMap((match) => (match[2] as string).replace(/\n$/, '').split('\n'))
}

/** Record types that have a section of their own. */
export function describedTypes(): string[] {
  return [...TEXT.matchAll(/^### `([a-z]+(?:\.[a-z]+)?)`$/gm)].map((match) => match[1] as string)
}

/** The words of the page, without those of its examples. */
export function words(): Set<string> {
  return new Set(TEXT.replace(/^```[\s\S]*?^```$/gm, '').match(/[A-Za-z]+/g))
}

export const DOCUMENT = TEXT
