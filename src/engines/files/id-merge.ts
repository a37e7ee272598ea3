/** Several id files as one: their entries in order, in pieces of a size that `writeIdFile` takes. */
import { compareEntries, ENTRY_BYTES, type IdFile, PIECE_BYTES, piecesOf } from './id-file.ts'

export async function* mergeIds(files: readonly IdFile[]): AsyncGenerator<Buffer> {
  let cursors: Cursor[] = []
  for (const file of files) {
    const cursor = new Cursor(piecesOf(file))
    if (await cursor.refill()) cursors.push(cursor)
  }
  let out = Buffer.allocUnsafe(PIECE_BYTES)
  let length = 0
  for (let [least] = cursors; least !== undefined; [least] = cursors) {
    for (const cursor of cursors) if (cursor !== least && cursor.isBefore(least)) least = cursor
    length += least.piece.copy(out, length, least.at, least.at + ENTRY_BYTES)
    if (length === out.length) {
      yield out
      out = Buffer.allocUnsafe(PIECE_BYTES)
      length = 0
    }
    if (!least.advance() && !(await least.refill())) {
      const ended = least
      cursors = cursors.filter((cursor) => cursor !== ended)
    }
  }
  if (length > 0) yield out.subarray(0, length)
}

/** A place in the entries of one file. */
class Cursor {
  readonly #pieces: AsyncGenerator<Buffer>
  piece: Buffer = Buffer.alloc(0)
  at = 0
  /** The first bytes of the key: enough to compare, nearly always. */
  #prefix = 0

  constructor(pieces: AsyncGenerator<Buffer>) {
    this.#pieces = pieces
  }

  isBefore(other: Cursor): boolean {
    if (this.#prefix !== other.#prefix) return this.#prefix < other.#prefix
    return compareEntries(this.piece, this.at, other.piece, other.at) < 0
  }

  /** False at the end of the piece. */
  advance(): boolean {
    this.at += ENTRY_BYTES
    if (this.at === this.piece.length) return false
    this.#prefix = this.piece.readUInt32BE(this.at)
    return true
  }

  /** False at the end of the file. */
  async refill(): Promise<boolean> {
    const { value } = await this.#pieces.next()
    if (value === undefined) return false
    this.piece = value
    this.at = -ENTRY_BYTES
    return this.advance()
  }
}
