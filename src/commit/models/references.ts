/** Paths, addresses and issue numbers in a text, found around the marks that the scanner made. */

export interface Reference {
  readonly text: string
  /** Where it was mentioned last: the higher, the later. */
  last: number
  weight: number
}

const LONGEST = 160
const URL_LIKE = /^https?:\/\/[^/]/
const NUMBERED = /^(?:[\w.-]{1,60}\/[\w.-]{1,60})?#\d{1,7}$/
const FILE =
  /^[\w@+-][\w.@+-]*\.(?:c|cc|cfg|conf|cpp|cs|css|csv|dart|env|ex|exs|go|gradle|h|hpp|html|ini|ipynb|java|js|json|jsonl|jsx|kt|lock|log|lua|md|mjs|ml|pdf|php|pl|png|proto|py|rb|rs|scala|sh|sql|svg|swift|tf|toml|ts|tsx|txt|vue|xml|yaml|yml|zig)(?::\d+)*$/
const PATH = /^(?:[A-Za-z]:\\|~?\/|\.{1,2}\/)?[\w.@+-]+(?:[/\\][\w.@+-]+)*\/?(?::\d+)*$/
const EXTENSION = /\.[A-Za-z][A-Za-z0-9]{0,7}(?::\d+)*$/

/** The references in some texts, each once. Weights tell how much a mention counts, by the index of its text. */
export function referencesIn(texts: readonly string[], marks: readonly number[], weights: readonly number[]): Reference[] {
  const found = new Map<string, Reference>()
  let [within, end] = [-1, 0]
  for (let m = 0; m < marks.length; m += 2) {
    const [index, at] = [marks[m] as number, marks[m + 1] as number]
    if (index !== within) [within, end] = [index, 0]
    // This mark is part of the word that the one before was in.
    if (at < end) continue
    const text = texts[index] as string
    let start = at
    while (start > end && belongs(text.charCodeAt(start - 1))) start--
    end = at + 1
    while (end < text.length && belongs(text.charCodeAt(end))) end++
    if (end - start > LONGEST) continue
    const word = trimmed(text.slice(start, end))
    const known = found.get(word)
    if (known !== undefined) {
      known.last = m
      known.weight += weights[index] ?? 1
    } else if (isReference(word)) found.set(word, { text: word, last: m, weight: weights[index] ?? 1 })
  }
  return [...found.values()]
}

function isReference(word: string): boolean {
  if (URL_LIKE.test(word) || NUMBERED.test(word) || FILE.test(word)) return true
  if (!/[/\\]/.test(word) || !PATH.test(word) || !/[A-Za-z]/.test(word)) return false
  // `and/or` is no path; one with an ending, a root or several steps is.
  return EXTENSION.test(word) || /^(?:[~.]|[A-Za-z]:)/.test(word) || (word.match(/[/\\]/g) ?? []).length > 1
}

/** Printable ASCII but for quotes, brackets and separators. */
function belongs(char: number): boolean {
  if (char <= 0x20 || char >= 0x7f) return false
  return !ENDS.has(char)
}

const ENDS = new Set([...'"\'`()<>[]{},;|*!'].map((mark) => mark.charCodeAt(0)))

/** Without the punctuation of the sentence around it. */
function trimmed(word: string): string {
  let end = word.length
  while (end > 0 && '.:?&'.includes(word[end - 1] as string)) end--
  // What stands behind `path=`; an address may have such a sign itself.
  return URL_LIKE.test(word) ? word.slice(0, end) : word.slice(word.lastIndexOf('=', end - 1) + 1, end)
}
