/** Commands as messages print them. A person who types one as it is printed must not get a usage error. */

/** In place of the id of a session, where a message is written by code that does not have it. */
const ID = '<id>'
const DEFAULT_SPACE = 'default'

interface Named {
  readonly id: string
  readonly space: string
}

/** A word for a shell: in quotes, if the shell would take it for something else. */
export function shellWord(text: string): string {
  return /^[\w.:@%+=,/][\w.:@%+=,/-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** The words that name a session: its id, and its space if that is not the default one. */
export function sessionWords({ id, space }: Named): string {
  return space === DEFAULT_SPACE ? shellWord(id) : `${shellWord(id)} --space ${shellWord(space)}`
}

/** A text whose commands name the session. */
export function withSession(text: string, session: Named): string {
  return text.replaceAll(ID, () => sessionWords(session))
}
