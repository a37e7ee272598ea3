/** Reads one page of messages. */
import { jsonBytes, PageBudget } from '../../record/json-bytes.ts'
import { isPlaced, type Placed } from './branch-reader.ts'
import type { Gap } from './depth-gaps.ts'
import type { KeptMessage } from './stored-message.ts'

interface PageRead {
  readonly messages: readonly Placed[]
  /** For each message the gaps before it; then those after the last one, if there is no further message. */
  readonly gaps: readonly (readonly Gap[])[]
  /** Whether there are more messages after these. */
  readonly more: boolean
}

export interface PageSize {
  readonly limit: number
  readonly bytes: number
}

export interface ShownPage {
  /** The newest content of each message. */
  readonly shown: KeptMessage[]
  readonly read: PageRead
}

/**
 * A page with the newest content of its messages. `newest` gives that, for the first of them at least; undefined if none was replaced. A message may
 * have been replaced with a larger one, so such a page is counted again.
 */
export async function shownPage(
  items: AsyncIterable<Placed | Gap>,
  size: PageSize,
  newest: (messages: readonly Placed[]) => Promise<KeptMessage[]> | undefined,
): Promise<ShownPage> {
  const read = await readPage(items, size)
  const shown = await newest(read.messages)
  if (shown === undefined) return { shown: read.messages.map(({ stored }) => stored), read }
  const budget = new PageBudget(size.bytes)
  const excess = shown.findIndex(({ message }) => !budget.add(jsonBytes(message)))
  if (excess !== -1) shown.length = excess
  return { shown, read: firstOf(read, shown.length) }
}

/**
 * So many messages, and the gaps between them. A gap after the last of them belongs to the next page, which begins there; if there is no
 * further message, it belongs to this one.
 */
async function readPage(items: AsyncIterable<Placed | Gap>, { limit, bytes }: PageSize): Promise<PageRead> {
  const messages: Placed[] = []
  const gaps: Gap[][] = [[]]
  const budget = new PageBudget(bytes)
  for await (const item of items) {
    if (!isPlaced(item)) gaps.at(-1)?.push(item)
    else if (messages.length === limit || !budget.add(jsonBytes(item.stored.message)))
      return { messages, gaps: gaps.slice(0, -1), more: true }
    else {
      messages.push(item)
      gaps.push([])
    }
  }
  return { messages, gaps, more: false }
}

/** The first messages of a page, where the others would be too much. */
function firstOf(page: PageRead, count: number): PageRead {
  if (count === page.messages.length) return page
  return { messages: page.messages.slice(0, count), gaps: page.gaps.slice(0, count), more: true }
}
