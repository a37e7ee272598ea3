/**
 * COPY, by which many lines get into their table with the least work for the server: rows in its binary form, lines as the bytes that they are.
 * It belongs to a transaction of its caller.
 */
import type pg from 'pg'

/** What the driver gives to whoever speaks the protocol himself. */
interface CopyConnection extends pg.Connection {
  query(text: string): void
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
}

export interface CopiedLine {
  /** Hashes, as hex. */
  readonly space: string
  readonly session: string
  readonly segment: number
  readonly position: number
  readonly line: Uint8Array
}

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const END = Buffer.from([0xff, 0xff])
/** Of a row in front of its line: how many fields, then each with its length in front. */
const HEAD_BYTES = 2 + 2 * (4 + 16) + 2 * (4 + 8) + 4

/** Resolves when all lines are in the table. Throws what the driver throws. */
export function copyLines(client: pg.ClientBase, table: string, lines: readonly CopiedLine[]): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(`COPY ${table} (space, session, segment, position, line) FROM STDIN (FORMAT binary)`, lines, resolve, reject))
  })
}

/** One message to the server for so many bytes. */
const CHUNK_BYTES = 64 * 1024

class CopyIn implements pg.Submittable {
  readonly #text: string
  readonly #lines: readonly CopiedLine[]
  /** The driver puts its own in front of it, for its time limit. */
  callback: (error?: Error | null) => void

  constructor(text: string, lines: readonly CopiedLine[], resolve: () => void, reject: (error: Error) => void) {
    this.#text = text
    this.#lines = lines
    this.callback = (error) => (error ? reject(error) : resolve())
  }

  submit(connection: pg.Connection): void {
    ;(connection as CopyConnection).query(this.#text)
  }

  handleCopyInResponse(connection: CopyConnection): void {
    let parts: Uint8Array[] = [SIGNATURE]
    let size = SIGNATURE.length
    for (const line of this.#lines) {
      parts.push(headOf(line), line.line)
      size += HEAD_BYTES + line.line.length
      if (size < CHUNK_BYTES) continue
      connection.sendCopyFromChunk(Buffer.concat(parts))
      parts = []
      size = 0
    }
    connection.sendCopyFromChunk(Buffer.concat([...parts, END]))
    connection.endCopyFrom()
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback()
  }

  handleCommandComplete(): void {}
}

function headOf({ space, session, segment, position, line }: CopiedLine): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES)
  let at = head.writeInt16BE(5)
  for (const hash of [space, session]) {
    at = head.writeInt32BE(16, at)
    at += head.write(hash, at, 'hex')
  }
  for (const number of [segment, position]) {
    at = head.writeInt32BE(8, at)
    at = head.writeBigInt64BE(BigInt(number), at)
  }
  head.writeInt32BE(line.length, at)
  return head
}
