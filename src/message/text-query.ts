/** A query for text, as catalogs answer it. */

/** What is looked for: a text must have all terms, or with `any` at least one. A term is one of several forms; a form, words in a row. */
export interface TextQuery {
  readonly any: boolean
  readonly terms: readonly Term[]
}

export interface Term {
  readonly forms: readonly string[]
  /** The last word may be the start of a longer one. */
  readonly prefix: boolean
}
