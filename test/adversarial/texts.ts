/**
 * Texts that are made to be slow to read. Each family aims at one kind of mistake: a pattern that tries every division of a run, a search
 * that starts again at every position, a list that is copied for each item.
 */

export interface Family {
  readonly name: string
  /** A text of this many UTF-16 units. */
  text(length: number): string
}

/** The words of the family `different words` are multiples of this number, in base 36. */
const WORD_STEP = 7919

export const FAMILIES: readonly Family[] = [
  ended('letters', 'a', '!'),
  ended('digits', '9', 'x'),
  ended('spaces', ' ', 'x'),
  ended('newlines', '\n', 'x'),
  repeated('quotes', '"'),
  ended('backslashes', '\\', 'n'),
  repeated('opening brackets', '['),
  repeated('nested objects', '{"a":'),
  repeated('marks of Markdown and HTML', '*_`(<!--&'),
  repeated('token beginnings', '-eyJ'),
  repeated('private key headers', '-----BEGIN RSA PRIVATE KEY-----\n'),
  repeated('addresses', 'a@a.a://a:'),
  repeated('combining marks', '\u0301'),
  repeated('surrogates', '\u{1f600}\ud83d'),
  repeated('one short word', 'ab '),
  { name: 'different words', text: differentWords },
  repeated('date beginnings', '2026-01-01T'),
  repeated('percent escapes', '%E4'),
  repeated('ids', '01980000-0000-7000-8000-000000000001,'),
]

/** The family whose pieces all differ, for lists: a list of equal items may be refused before it is compared. */
export const DIFFERENT_WORDS = FAMILIES.filter(({ name }) => name === 'different words')

/** A text that repeats a piece. */
export function repeated(name: string, piece: string): Family {
  return { name, text: (length) => run(piece, length) }
}

/** A run with something else at its end: a pattern that needs the run to go on fails there, and may try again from the next position. */
function ended(name: string, piece: string, end: string): Family {
  return { name, text: (length) => run(piece, length - end.length) + end }
}

function run(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
}

function differentWords(length: number): string {
  let text = ''
  for (let next = WORD_STEP; text.length < length; next += WORD_STEP) text += `${next.toString(36)} `
  return text.slice(0, length)
}
