/** Following a server's events: a stream that breaks is opened again behind the last event, so none is missed and none comes twice. */
import { HoldfastError } from '../errors.ts'
import type { Change, FollowOptions } from '../store/messages/follow.ts'
import { type ChangeFields, changeOf } from '../wire/messages.ts'
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
): { events: AsyncGenerator<ServerEvent>; opened: Promise<unknown> } {
  let last = after ?? (fromStart === true ? FROM_START : undefined)
  const open = (): Promise<ReadableStream<Uint8Array>> => transport.open(path, { lastEventId: last, signal })
  const isOver = (): boolean => signal?.aborted === true
  // Asked for now: what comes from this call on is wanted, not from when somebody waits for it.
  const first = open()
  return { events: events(), opened: first.catch(() => undefined) }

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

/** What happened to a session, out of its events. */
export async function* changesIn(events: AsyncGenerator<ServerEvent>): AsyncGenerator<Change> {
  for await (const { id, type, data } of events) if (type !== 'ready') yield changeOf(id ?? '', JSON.parse(data) as ChangeFields)
}
