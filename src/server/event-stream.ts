/** One open stream of server-sent events: what is written to it, and what happens if nobody reads. */
import type { ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import { SERVER_LIMITS } from './limits.ts'

export interface Event {
  readonly id: string | undefined
  readonly type: string
  readonly data: object
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // What lies between must not gather events before it hands them on.
  'x-accel-buffering': 'no',
}

/** How soon a browser tries again. */
const RETRY = 'retry: 1000\n\n'
const HEARTBEAT = ':\n\n'

export class EventStream {
  readonly #write: (text: string) => boolean
  readonly #end: () => void
  readonly #onClosed: (() => void)[] = []
  #open = true

  private constructor(write: (text: string) => boolean, end: () => void) {
    this.#write = write
    this.#end = end
  }

  /** Opens it as the answer to a request; `x-request-id` and the like are given. */
  static open(c: Context, headers: Readonly<Record<string, string>>): { stream: EventStream; response: Response } {
    const { outgoing } = (c.env ?? {}) as { readonly outgoing?: ServerResponse }
    const opened = outgoing === undefined ? openStream({ ...HEADERS, ...headers }) : openConnection(outgoing, { ...HEADERS, ...headers })
    opened.stream.#say(RETRY)
    return opened
  }

  /** @internal */
  static over(write: (text: string) => boolean, end: () => void): EventStream {
    return new EventStream(write, end)
  }

  get isOpen(): boolean {
    return this.#open
  }

  send({ id, type, data }: Event): void {
    this.#say(`${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  beat(): void {
    this.#say(HEARTBEAT)
  }

  onClosed(callback: () => void): void {
    if (this.#open) this.#onClosed.push(callback)
    else callback()
  }

  /** Ends it; the other side may come back with the last id. */
  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#end()
    for (const callback of this.#onClosed) callback()
  }

  #say(text: string): void {
    // Whoever does not read is cut off, and finds the rest where he resumes: memory is not for him.
    if (this.#open && !this.#write(text)) this.close()
  }
}

/** On the connection itself: a stream around it would cost each of thousands of followers as much again. */
function openConnection(outgoing: ServerResponse, headers: Record<string, string>): { stream: EventStream; response: Response } {
  outgoing.writeHead(200, headers)
  outgoing.flushHeaders()
  const stream = EventStream.over(
    (text) => {
      outgoing.write(text)
      return outgoing.writableLength < SERVER_LIMITS.followerBytes
    },
    () => outgoing.end(),
  )
  outgoing.on('close', () => stream.close())
  outgoing.on('error', () => stream.close())
  return { stream, response: RESPONSE_ALREADY_SENT }
}

/** Where there is no connection, as in a test. */
function openStream(headers: Record<string, string>): { stream: EventStream; response: Response } {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const readable = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given
      },
      cancel: () => stream.close(),
    },
    { highWaterMark: SERVER_LIMITS.followerBytes, size: (chunk) => chunk?.length ?? 0 },
  )
  const stream = EventStream.over(
    (text) => {
      controller?.enqueue(encoder.encode(text))
      return (controller?.desiredSize ?? 0) > 0
    },
    () => {
      try {
        controller?.close()
      } catch {
        // The reader has gone already.
      }
    },
  )
  return { stream, response: new Response(readable, { headers }) }
}
