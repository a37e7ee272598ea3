/** A source from bytes that somebody sent: they are decompressed here, within a limit, and never touch a disk. */
import * as zlib from 'node:zlib'
import { HoldfastError } from '../errors.ts'
import type { Source } from './item.ts'

/** Zstandard is part of newer versions of Node only. */
type Zstd = { readonly zstdDecompressSync?: (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Buffer }

export interface BytesLimits {
  /** Of the bytes as they came, and of what they decompress to; 64 MiB and 256 MiB unless told. */
  readonly bytes?: number
  readonly decompressedBytes?: number
}

const GZIP = [0x1f, 0x8b]
const ZSTD = [0x28, 0xb5, 0x2f, 0xfd]

/** `name` is what the file is called where it comes from: it tells what some formats do not say inside. PAYLOAD_TOO_LARGE over a limit. */
export function bytesSource(name: string, bytes: Uint8Array, limits: BytesLimits = {}): Source {
  const { bytes: most = 64 * 1024 * 1024, decompressedBytes = 256 * 1024 * 1024 } = limits
  if (bytes.length > most) throw tooLarge(`It has ${bytes.length} bytes; the limit is ${most}.`, most)
  const plain = decompressed(bytes, decompressedBytes)
  const path = (name.split(/[/\\]/).at(-1) ?? name).replace(/\.(?:gz|zst)$/i, '')
  return {
    name,
    files: [
      {
        path,
        size: plain.length,
        read: async function* () {
          for (let at = 0; at < plain.length; at += 65_536) yield plain.subarray(at, at + 65_536)
        },
      },
    ],
  }
}

function decompressed(bytes: Uint8Array, most: number): Uint8Array {
  const begins = (magic: readonly number[]): boolean => magic.every((byte, index) => bytes[index] === byte)
  try {
    if (begins(GZIP)) return zlib.gunzipSync(bytes, { maxOutputLength: most })
    if (begins(ZSTD)) return unzstd(bytes, most)
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw tooLarge(`It decompresses to more than ${most} bytes.`, most)
    throw new HoldfastError('INVALID_ARGUMENT', `It cannot be decompressed: ${(error as Error).message}.`, { cause: error })
  }
  return bytes
}

function unzstd(bytes: Uint8Array, most: number): Uint8Array {
  const { zstdDecompressSync } = zlib as Zstd
  if (zstdDecompressSync === undefined)
    throw new HoldfastError(
      'INVALID_ARGUMENT',
      'This version of Node cannot read Zstandard. Decompress it first, or use Node 22.15 or newer.',
    )
  return zstdDecompressSync(bytes, { maxOutputLength: most })
}

function tooLarge(message: string, limit: number): HoldfastError {
  return new HoldfastError('PAYLOAD_TOO_LARGE', `${message} Split it, or import it with the command line.`, { details: { limit } })
}
