/** The watermarks in the files of a simulated machine, read by the description of the format alone, so that they can be held against the engine. */
import { crc32 } from 'node:zlib'
import type { SimulatedFile } from '../file.ts'

export interface MarkOnDisk {
  /** Hash of the journal, in hex. */
  readonly journal: string
  readonly start: number
  readonly end: number
  readonly idHash: number
}

interface Origin {
  readonly store: string | undefined
  readonly boot: string
}

const ENTRY_BYTES = 40
const FILE_NAME = /\/[0-9a-f]{2}\.[0-9a-f-]+(\.old)?$/

/** The entries of those files that are what they say they are. `contentOf` is what is read of a file. */
export function marksIn(
  files: ReadonlyMap<string, SimulatedFile>,
  origin: Origin,
  contentOf: (file: SimulatedFile) => Buffer,
): MarkOnDisk[] {
  const marks: MarkOnDisk[] = []
  for (const [path, file] of files) {
    if (!FILE_NAME.test(path)) continue
    const content = contentOf(file)
    const nonce = trustedNonce(content, file, origin)
    if (nonce !== undefined) marks.push(...entriesOf(content, crc32(nonce)))
  }
  return marks
}

/** How marks refer to a journal: the hash of its space and its own hash, combined bit by bit. */
export function journalInMarks(name: string): string {
  const own = Buffer.from(name.slice(-32), 'hex')
  return Buffer.from(Buffer.from(name.slice(0, 32), 'hex').map((byte, i) => byte ^ (own[i] as number))).toString('hex')
}

/** The id of the store, as the first whole line of its own file says it. */
export function storeId(content: Buffer | undefined): string | undefined {
  for (const line of (content ?? Buffer.of()).toString('latin1').split('\n')) {
    const value = parsed(line)
    if (typeof value?.store === 'string') return value.store
  }
  return undefined
}

function trustedNonce(content: Buffer, { inode, createdMs }: SimulatedFile, { store, boot }: Origin): string | undefined {
  const end = content.indexOf(10)
  const header = end === -1 ? undefined : parsed(content.toString('latin1', 0, end))
  if (header === undefined || typeof header.nonce !== 'string') return undefined
  if (header.store !== store || header.inode !== inode || header.born !== createdMs) return undefined
  return createdMs > 0 || header.boot === boot ? header.nonce : undefined
}

function entriesOf(content: Buffer, seed: number): MarkOnDisk[] {
  const marks: MarkOnDisk[] = []
  for (let at = content.indexOf(10) + 1; at + ENTRY_BYTES <= content.length; ) {
    const entry = content.subarray(at, at + ENTRY_BYTES)
    const whole = entry.readUInt32LE(ENTRY_BYTES - 4) === crc32(entry.subarray(0, -4), seed)
    if (whole) {
      const start = entry.readDoubleLE(16)
      marks.push({ journal: entry.toString('hex', 0, 16), start, end: start + entry.readUInt32LE(24), idHash: entry.readUInt32LE(28) })
    }
    at += whole ? ENTRY_BYTES : 1
  }
  return marks
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}
