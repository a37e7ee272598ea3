/** Following a server's events: a stream that breaks is opened again behind the last event, so none is missed and none comes twice. */

import { HoldfastError } from '../errors.ts'
import { type JsonObject, RECORD_TYPES } from '../record/record.ts'
import type { Change, FollowOptions } from '../store/messages/follow.ts'
import { changeCodec } from '../wire/messages.ts'
import { type Decode, notUnderstood } from './answer.ts'
import { eventsIn, type ServerEvent } from './event-source.ts'
import { pause, type Transport } from './transport.ts'

const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 5000
/** In front of the first record there is. */
const FROM_START = '0-reset'

/** `opened` resolves when the server has begun, or failed to: whatever is asked for behind that is not missed. */
export function follow(
  transport: Transport,
  path: string,
  { after, fromStart, signal }: FollowOptions,
  checkCursor: (cursor: string) => unknown = () => undefined,
): { events: AsyncGenerator<ServerEvent>; opened: Promise<unknown> } {
  let last = after ?? (fromStart === true ? FROM_START : undefined)
  const open = (): Promise<ReadableStream<Uint8Array>> => transport.open(path, { lastEventId: last, signal })
  const isOver = (): boolean => signal?.aborted === true
  // Asked for now: what comes from this call on is wanted, not from when somebody waits for it.
  const first = begin()
  return { events: events(), opened: first.catch(() => undefined) }

  /** What is wrong with a cursor is reported where the iteration begins, as the library does. */
  async function begin(): Promise<ReadableStream<Uint8Array>> {
    if (after !== undefined) checkCursor(after)
    return open()
  }

  async function* events(): AsyncGenerator<ServerEvent> {
    for (let [opening, failures] = [first, 0]; !isOver(); ) {
      try {
        for await (const event of eventsIn(await opening)) {
          failures = 0
          last = event.id ?? last
          yield event
        }
      } catch (error) {
        if (isOver()) return
        if (error instanceof HoldfastError && !error.retryable) throw error
      }
      await pause(Math.min(FIRST_WAIT_MS * 2 ** failures++, LONGEST_WAIT_MS), signal)
      // Whoever has left meanwhile would never hear what becomes of another one.
      if (!isOver()) opening = open()
    }
  }
}

/** Types of changes that this version knows. A newer server may send others, which are left out. */
const CHANGES: ReadonlySet<string> = new Set([...RECORD_TYPES, 'reset', 'damage'])

/** What happened to a session, out of its events. */
export async function* changesIn(events: AsyncGenerator<ServerEvent>): AsyncGenerator<Change<JsonObject>> {
  for await (const event of events) {
    if (CHANGES.has(event.type)) yield { cursor: event.id ?? '', ...dataOf(event, changeCodec.decode) }
  }
}

/** The data of an event. */
export function dataOf<Out>({ data }: ServerEvent, decode: Decode<Out>): Out {
  try {
    return decode(JSON.parse(data) as never, new Headers())
  } catch (error) {
    throw notUnderstood(error, 'GET')
  }
}
