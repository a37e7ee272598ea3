/**
 * Messages from bytes: one JSON value a line, an object as it is, a text as the content of a message. What cannot be kept as it came is
 * refused with the number of its line, and nothing behind it is read: a broken byte, a line that is too long, an integer that JSON would
 * round.
 */
import type { Readable } from 'node:stream'
import { HoldfastError } from '../errors.ts'
import { roundedInteger } from '../record/integers.ts'
import { LIMITS } from '../record/limits.ts'
import { wrongUsage } from './arguments.ts'

export interface MessageLine {
  readonly number: number
  readonly message: object
  /** Of the line. */
  readonly bytes: number
}

const NEWLINE = 0x0a

/** The messages of a stream. Ends early, without an error, if the signal comes. */
export async function* readMessages(stream: Readable, role: string, signal: AbortSignal): AsyncGenerator<MessageLine> {
  for await (const { number, bytes } of readLines(stream, signal)) {
    const text = decodeText(bytes, `Line ${number}`)
    const json = number === 1 ? text.replace(/^\ufeff/, '') : text
    if (json.trim() !== '') yield { number, message: messageIn(json, number, role), bytes: bytes.length }
  }
}

/** UTF-8, with nothing put in the place of what is none. */
export function decodeText(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new HoldfastError('INVALID_ARGUMENT', `${what} is not UTF-8.`, { cause: error })
  }
}

/** A line as it came in at the end of the stream counts even without its line break. */
async function* readLines(stream: Readable, signal: AbortSignal): AsyncGenerator<{ number: number; bytes: Buffer }> {
  const end = (): void => {
    stream.destroy()
  }
  signal.addEventListener('abort', end)
  let number = 1
  let parts: Buffer[] = []
  let length = 0
  const grow = (part: Buffer): void => {
    length += part.length
    if (length > LIMITS.recordBytes) {
      throw new HoldfastError('PAYLOAD_TOO_LARGE', `Line ${number} is longer than ${LIMITS.recordBytes} bytes. Split the message.`, {
        details: { line: number, limit: LIMITS.recordBytes },
      })
    }
    parts.push(part)
  }
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let from = 0
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        grow(chunk.subarray(from, at))
        yield { number, bytes: Buffer.concat(parts) }
        from = at + 1
        number++
        parts = []
        length = 0
      }
      grow(chunk.subarray(from))
      if (signal.aborted) return
    }
    if (length > 0 && !signal.aborted) yield { number, bytes: Buffer.concat(parts) }
  } catch (error) {
    if (!signal.aborted || error instanceof HoldfastError) throw error
  } finally {
    signal.removeEventListener('abort', end)
  }
}

function messageIn(json: string, line: number, role: string): object {
  const rounded = roundedInteger(json)
  if (rounded !== undefined) {
    throw wrongUsage(`Line ${line} has the integer ${rounded}, which JSON readers would round. Send it as a text.`, { line })
  }
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new HoldfastError('INVALID_ARGUMENT', `Line ${line} is not JSON: ${(error as Error).message}`, {
      details: { line },
      cause: error,
    })
  }
  if (typeof value === 'string') return { role, content: value }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongUsage(
      `Line ${line} must be a message object, or a text in quotes; it is ${Array.isArray(value) ? 'an array' : String(value)}.`,
      { line },
    )
  }
  return value
}
