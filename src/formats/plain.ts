/**
 * Compressed bytes without their compression, as they come: decompressing is done by the threads of Node's pool, never by the one that
 * answers requests. A stream that is cut off or spoiled gives all that came before, and tells why it ended.
 */
import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { HoldfastError } from '../errors.ts'

export type Compression = 'gzip' | 'zstd'

interface PlainOptions {
  readonly compression: Compression
  /** Told why the stream ended early, if it did. */
  readonly onFault: (why: string) => void
}

/** Zstandard is part of newer versions of Node only: INVALID_ARGUMENT where it is not. */
export function decompressor(compression: Compression): Transform {
  if (compression === 'gzip') return zlib.createGunzip()
  const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }
  if (createZstdDecompress !== undefined) return createZstdDecompress()
  throw new HoldfastError(
    'INVALID_ARGUMENT',
    'This version of Node cannot read Zstandard. Decompress it first, or use Node 22.15 or newer.',
  )
}

export async function* plain(chunks: AsyncIterable<Uint8Array>, { compression, onFault }: PlainOptions): AsyncGenerator<Uint8Array> {
  const stream = decompressor(compression)
  const ready: Uint8Array[] = []
  let [ended, wake] = [false, (): void => undefined]
  // Listened to, not iterated: what was decompressed in front of an error must not be lost with it.
  stream.on('data', (chunk: Uint8Array) => {
    ready.push(chunk)
    stream.pause()
    wake()
  })
  stream.on('error', (error) => onFault(error.message))
  stream.on('close', () => {
    ended = true
    wake()
  })
  const feeding = feed(stream, chunks)
  try {
    for (;;) {
      const chunk = ready.shift()
      if (chunk !== undefined) yield chunk
      else if (ended) break
      else {
        const woken = new Promise<void>((resolve) => (wake = resolve))
        stream.resume()
        await woken
      }
    }
    await feeding
  } finally {
    stream.destroy()
    await feeding.catch(() => undefined)
  }
}

/** Ends early when the stream does; what goes wrong with the source itself is thrown. */
async function feed(stream: Transform, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let goOn = (): void => undefined
  stream.on('drain', () => goOn()).on('close', () => goOn())
  try {
    for await (const chunk of chunks) {
      if (stream.destroyed) return
      // The next chunk may come in the same memory.
      const room = stream.write(Buffer.from(chunk))
      if (!room && !stream.destroyed) await new Promise<void>((resolve) => (goOn = resolve))
    }
    stream.end()
  } catch (error) {
    stream.destroy()
    throw error
  }
}
