/** Bodies of requests: bytes within the limit, as UTF-8, as JSON whose integers are kept and whose nesting can be borne. */
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import { HoldfastError } from '../errors.ts'
import { roundedInteger } from '../record/integers.ts'
import { exceededShape } from '../record/json-shape.ts'
import { LIMITS } from '../record/limits.ts'
import { invalid } from '../session/check.ts'
import { endOfTick } from './end-of-tick.ts'
import type { Holding } from './held-bytes.ts'
import { SERVER_LIMITS } from './limits.ts'

const NOTHING = Buffer.alloc(0)

interface Bindings {
  readonly incoming?: IncomingMessage
}

/** A header of a request, from the connection itself where there is one: it is looked for a dozen times a request. */
export function headerOf(c: Context, name: string): string | undefined {
  const { incoming } = (c.env ?? {}) as Bindings
  if (incoming === undefined) return c.req.header(name)
  const value = incoming.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** What was sent; undefined if nothing was. */
export async function readJson(c: Context, holding: Holding, most?: number): Promise<unknown> {
  const bytes = await readBytes(c, holding, most)
  if (bytes.length === 0) return undefined
  const type = headerOf(c, 'content-type')
  // A page of somebody else can send a form or plain text without being asked; JSON it cannot.
  if (type !== undefined && !/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) {
    throw invalid(`The body must be JSON, with the content type application/json; got ${type.slice(0, 100)}.`)
  }
  holding.add(BODY_COPIES * bytes.length)
  return parseJson(bytes)
}

/** What a body becomes besides its bytes: a text, a value, and the line of a record. */
const BODY_COPIES = 3

const decoder = new TextDecoder('utf-8', { fatal: true })

function parseJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch (error) {
    throw invalid('The body is not UTF-8.', error)
  }
  const rounded = roundedInteger(text)
  if (rounded !== undefined)
    throw invalid(`The body has the integer ${rounded.slice(0, 40)}, which JSON readers would round. Send it as a text.`)
  checkShape(text)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalid(`The body is not JSON: ${(error as Error).message.slice(0, 200)}`, error)
  }
}

/** Before it is parsed: a message is two levels below the body. */
function checkShape(text: string): void {
  const { bodyValues } = SERVER_LIMITS
  const exceeded = exceededShape(text, { depth: LIMITS.jsonDepth + 2, values: bodyValues })
  if (exceeded === 'depth') throw invalid(`The body is nested deeper than ${LIMITS.jsonDepth} levels.`)
  if (exceeded === undefined) return
  const message = `The body has more than ${bodyValues} values as JSON. Split it, and send bytes as base64 and not as lists of numbers.`
  throw new HoldfastError('PAYLOAD_TOO_LARGE', message, { details: { limit: bodyValues } })
}

/** The bytes count for `holding` as they arrive. */
export async function readBytes(c: Context, holding: Holding, most: number = SERVER_LIMITS.bodyBytes): Promise<Uint8Array> {
  const length = Number(headerOf(c, 'content-length') ?? 0)
  if (length > most) throw tooLarge(most)
  const { incoming } = (c.env ?? {}) as Bindings
  // Read from the connection itself where there is one: a stream around it takes longer than the request.
  if (incoming !== undefined) {
    await endOfTick()
    return wholeOf(incoming, holding, most) ?? readIncoming(incoming, holding, most)
  }
  const bytes = new Uint8Array(await c.req.arrayBuffer())
  if (bytes.length > most) throw tooLarge(most)
  holding.add(bytes.length)
  return bytes
}

/** Most bodies have come whole by the end of the turn that brought their head: then there is nothing to listen for. */
function wholeOf(incoming: IncomingMessage, holding: Holding, most: number): Uint8Array | undefined {
  if (!incoming.complete || incoming.readableFlowing === true) return undefined
  const bytes = (incoming.read() as Buffer | null) ?? NOTHING
  if (bytes.length > most) throw tooLarge(most)
  holding.add(bytes.length)
  return bytes
}

function readIncoming(incoming: IncomingMessage, holding: Holding, most: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let refusal: unknown
    const take = (chunk: Buffer): void => {
      length += chunk.length
      if (length > most) throw tooLarge(most)
      holding.add(chunk.length)
      chunks.push(chunk)
    }
    incoming.on('data', (chunk: Buffer) => {
      // The rest of a refused body is read and dropped, so that the client reads the answer.
      if (refusal !== undefined) return
      try {
        take(chunk)
      } catch (error) {
        refusal = error
        chunks.length = 0
        reject(error)
      }
    })
    incoming.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    const cut = (): void => reject(new HoldfastError('INVALID_ARGUMENT', 'The body ended before it was complete.'))
    incoming.on('error', cut)
    incoming.on('aborted', cut)
    // It may have been cut off before anybody listened.
    if (incoming.destroyed && !incoming.complete) cut()
  })
}

function tooLarge(limit: number): HoldfastError {
  return new HoldfastError('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes. Split it.`, {
    details: { limit },
  })
}
