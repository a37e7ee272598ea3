/** `search`: full text over messages, titles, summaries and memories, with the hits marked. */
import type { SearchHit, SearchOptions } from '../store/search.ts'
import { hitFields } from '../wire/search.ts'
import { given } from './arguments.ts'
import type { Context } from './context.ts'
import type { Output } from './output.ts'
import { inLine, relativeTime } from './terminal.ts'

export async function search(
  context: Context,
  [words]: [string[]],
  { session, role, from, to, limit }: Pick<SearchOptions, 'session' | 'role' | 'from' | 'to' | 'limit'>,
): Promise<void> {
  const { out } = context
  const store = await context.read()
  const { hits, lag } = await store.search(words.join(' '), given({ session, role, from, to, limit }))
  const now = Date.now()
  for (const hit of hits) await out.result(hitFields(hit), (colours) => lineOf(hit, colours, now))
  if (lag !== null) {
    out.warn(`The text of ${lag.sessions} sessions is not indexed yet and was not searched. Try again in a moment.`, {
      sessions: lag.sessions,
      bytes: lag.bytes,
    })
  }
  if (hits.length === 0) out.note('Nothing was found.')
}

function lineOf(hit: SearchHit, colours: Output['colours'], now: number): string {
  const { kind, session, title, message, archive, role, at } = hit
  const what = kind === 'message' ? `${role ?? 'message'}  ${message}` : kind === 'session' ? 'title' : `${kind} of archive ${archive}`
  const name = title === null ? inLine(session) : `${inLine(session)}  ${inLine(title)}`
  return `${colours.bold(name)}  ${colours.dim(`${inLine(what)}  ${relativeTime(at, now)}`)}\n  ${marked(hit, colours)}`
}

/** Escaped piece by piece, since what is escaped gets longer. */
function marked({ snippet, marks }: SearchHit, colours: Output['colours']): string {
  let [text, at] = ['', 0]
  for (const [from, to] of marks) {
    text += inLine(snippet.slice(at, from)) + colours.yellow(colours.bold(inLine(snippet.slice(from, to))))
    at = to
  }
  return text + inLine(snippet.slice(at))
}
