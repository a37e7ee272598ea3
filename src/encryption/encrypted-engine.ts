/**
 * An engine that encrypts for another engine, which moves lines without looking into them. Each line that is read here comes with a function that
 * decrypts it, and writers get a cipher. Keys are fetched while lines are read, so that decrypting a line waits for nothing.
 */

import { EngineWrapper } from '../engine/engine-wrapper.ts'
import { JournalWrapper } from '../engine/journal-wrapper.ts'
import type { Chunk, Engine, Journal, JournalPosition } from '../engine/port.ts'
import type { KeyEntry, KeyHash } from '../record/key-hash.ts'
import type { Line } from '../record/line.ts'
import type { Open } from '../record/line-cipher.ts'
import { NO_DIGEST } from '../session/record-keys.ts'
import type { DataKeys } from './data-keys.ts'

export class EncryptedEngine extends EngineWrapper {
  readonly #dataKeys: DataKeys

  /** `indexed`: a catalog in clear may be in the store, or beside it. Otherwise it has no place there. */
  constructor(inner: Engine, dataKeys: DataKeys, { indexed }: { readonly indexed: boolean }) {
    super(inner)
    this.#dataKeys = dataKeys
    if (inner.lines !== undefined) this.lines = (places) => this.#openLines(places)
    if (indexed) return
    delete this.directory
    delete this.catalog
  }

  override journal(name: string): Journal {
    const journal = this.inner.journal(name)
    return this.#dataKeys.isOwn(name) ? journal : new EncryptedJournal(journal, this.#dataKeys)
  }

  async #openLines(places: readonly JournalPosition[]): Promise<(Line | undefined)[]> {
    const found = (await this.inner.lines?.(places)) ?? []
    return Promise.all(found.map((line, i) => line && this.#withOpener(line, (places[i] as JournalPosition).name)))
  }

  async #withOpener(line: Line, journal: string): Promise<Line> {
    const key = this.#dataKeys.isOwn(journal) ? undefined : keyOf(line)
    return key === undefined ? line : { ...line, open: await opener(this.#dataKeys, key, journal) }
  }
}

/** Where the head of a line names its key: after an id, two times and a type, none of which is long. */
const HEAD_BYTES = 256
const SEALED = /"sealed":"([0-9a-f]{32})"/
/** Lines that are never encrypted. */
const IN_CLEAR = /"type":"segment\.sealed"/

class EncryptedJournal extends JournalWrapper {
  readonly #dataKeys: DataKeys
  /** Segments with lines from before the store was encrypted: id files have their digests as they are. */
  readonly #mixed = new Set<number>()

  constructor(inner: Journal, dataKeys: DataKeys) {
    super(inner)
    this.#dataKeys = dataKeys
  }

  override async read(segment: number, from: number, limit?: number): Promise<Chunk | undefined> {
    const chunk = await this.inner.read(segment, from, limit)
    if (chunk === undefined || chunk.lines.length === 0) return chunk
    const openers = new Map<string, Open>()
    const lines: Line[] = []
    for (const line of chunk.lines) {
      const id = this.#keyOf(segment, line)
      if (id !== undefined && !openers.has(id)) openers.set(id, await opener(this.#dataKeys, id, this.name))
      const open = id === undefined ? undefined : openers.get(id)
      lines.push(open === undefined ? line : { ...line, open })
    }
    return { ...chunk, lines }
  }

  override async lookup(keys: readonly KeyHash[], from: number, before: number): Promise<(KeyEntry | undefined)[]> {
    const found = await this.inner.lookup(keys, from, before)
    // Hardly ever is one found: of something that is sent again.
    if (found.every((entry) => entry === undefined || entry.digest === NO_DIGEST)) return found
    const key = await this.#dataKeys.current(this.name, false)
    if (key === undefined) return found
    return Promise.all(
      found.map(async (entry) => (entry !== undefined && (await this.#isEncrypted(entry)) ? key.unblindEntry(entry) : entry)),
    )
  }

  /** Whether the line of a key is encrypted, and so its digest blinded. Lines written before the store was encrypted are not. */
  async #isEncrypted({ at, length, digest }: KeyEntry): Promise<boolean> {
    if (digest === NO_DIGEST) return false
    const segment = (await this.inner.segments()).findLast((first) => first <= at)
    const [line] = segment === undefined ? [] : ((await this.inner.read(segment, at, length))?.lines ?? [])
    return line === undefined || line.bytes.length < 3 || SEALED.test(headOf(line))
  }

  override storeKeys(segment: number, end: number, keys: ReadonlyMap<KeyHash, KeyEntry>): void {
    const key = this.#dataKeys.atHand(this.name)
    // A hint, and left out where it would not be what the lines say.
    if (key === undefined || this.#mixed.has(segment)) return
    this.inner.storeKeys(segment, end, new Map([...keys].map(([hash, entry]) => [hash, key.blindEntry(entry)])))
  }

  #keyOf(segment: number, line: Line): string | undefined {
    const id = keyOf(line)
    if (id === undefined && line.bytes.length >= 3 && !IN_CLEAR.test(headOf(line))) this.#mixed.add(segment)
    return id
  }
}

/** The id of the key that a line is encrypted with; undefined if it is not encrypted. */
function keyOf(line: Line): string | undefined {
  return line.bytes.length < 3 ? undefined : SEALED.exec(headOf(line))?.[1]
}

/** What decrypts the lines of a key. A caller that looks into a line whose key is missing gets the error; others continue. */
async function opener(keys: DataKeys, id: string, journal: string): Promise<Open> {
  try {
    const key = await keys.load(id)
    // A line that was encrypted for another journal does not belong to this one.
    return (record) => (key.journal === journal ? key.decrypt(record) : undefined)
  } catch (error) {
    return () => {
      throw error
    }
  }
}

function headOf({ bytes }: Line): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES)).toString('latin1')
}
