/** `search`: full text over messages, titles, summaries and memories, with the hits marked. */

import { withoutUndefined } from '../server/without-undefined.ts'
import type { StoreApi } from '../store/api/store-api.ts'
import type { SearchHit, SearchOptions, SearchResult } from '../store/search.ts'
import { hitCodec } from '../wire/search.ts'
import { withCatalogProgress } from './catalog-progress.ts'
import type { Context } from './context.ts'
import { warnOfDamage } from './damage.ts'
import type { Output } from './output.ts'
import { inLine, relativeTime } from './terminal.ts'

export async function search(
  context: Context,
  [words]: [string[]],
  { session, role, from, to, limit }: Pick<SearchOptions, 'session' | 'role' | 'from' | 'to' | 'limit'>,
): Promise<void> {
  const { out } = context
  const store = await context.read()
  const searching = searchAll(context, store, words.join(' '), withoutUndefined({ session, role, from, to, limit }))
  const { hits, lag, damage } = await withCatalogProgress(context, store, searching)
  const now = Date.now()
  for (const hit of hits) await out.result(hitCodec.encode(hit), (colours) => lineOf(hit, colours, now))
  if (lag !== null) {
    out.warn(`The text of ${lag.sessions} sessions is not indexed yet and was not searched. Try again in a moment.`, {
      sessions: lag.sessions,
      bytes: lag.bytes,
    })
  }
  warnOfDamage(out, session, damage)
  if (hits.length === 0) out.note('Nothing was found.')
}

/** What is not indexed yet would not be when this process has ended either, so it waits as long as there is progress. A server goes on by itself. */
async function searchAll({ isRemote, signal }: Context, store: StoreApi, words: string, options: SearchOptions): Promise<SearchResult> {
  let result = await store.search(words, options)
  for (let before = ''; result.lag !== null && !isRemote && !signal.aborted; ) {
    const { sessions, bytes } = result.lag
    // Nothing was indexed: another process is at it, or what is left cannot be read.
    if (before === `${sessions} ${bytes}`) break
    before = `${sessions} ${bytes}`
    result = await store.search(words, options)
  }
  return result
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
