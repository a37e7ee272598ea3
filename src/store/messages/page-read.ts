/** Reads one page of messages. */
import { isPlaced, type Placed } from './branch-reader.ts'
import type { Gap } from './depth-gaps.ts'

export interface PageRead<T> {
  readonly messages: T[]
  readonly gaps: Gap[]
  /** Whether there are more messages after these. */
  readonly more: boolean
}

/**
 * So many messages, and the gaps between them. A gap after the last of them belongs to the next page, which begins there; if there is no
 * further message, it belongs to this one.
 */
export async function readPage(items: AsyncIterable<Placed | Gap>, limit: number): Promise<PageRead<Placed>> {
  const messages: Placed[] = []
  const gaps: Gap[] = []
  let waiting: Gap[] = []
  for await (const item of items) {
    if (!isPlaced(item)) waiting.push(item)
    else if (messages.length === limit) return { messages, gaps, more: true }
    else {
      messages.push(item)
      gaps.push(...waiting)
      waiting = []
    }
  }
  return { messages, gaps: [...gaps, ...waiting], more: false }
}
