/**
 * What has been imported into a space, and what could not be: two sessions of the store's own space. The ledger knows sources by a digest of their
 * bytes, so that one that is unchanged is not read again, wherever it lies, and how long large ones are; which source a session came from; and which
 * children its parents have told of, since a child may come later, alone. The quarantine has the bytes that could not be read, with their places.
 */
import { createHash } from 'node:crypto'
import { STORE_SPACE } from '../../engine/names.ts'
import type { DamageItem, Source } from '../../formats/item.ts'
import type { Json, JsonObject } from '../../record/record.ts'
import { entryKey } from '../../session/record-keys.ts'
import type { Entry } from '../../session/records.ts'
import { quarantineOf } from '../../store/damage/quarantine.ts'
import { Handle } from '../../store/handle.ts'
import { admitBytes } from '../../store/messages/admission.ts'
import { putEntries, readEntry } from '../../store/messages/entries.ts'
import { ownSession } from '../../store/own-session.ts'
import type { WriterParts } from '../../store/parts.ts'
import { type Digested, LARGE_BYTES } from './digest.ts'
import type { ImportedSession } from './report.ts'

/** So much of one source is put into the quarantine; the rest stays where it is, in the source. */
const QUARANTINED_BYTES = 16 * 1024 * 1024

export class Ledger {
  readonly #parts: WriterParts
  readonly #ledger: Handle
  readonly #quarantine: Handle

  constructor(parts: WriterParts) {
    this.#parts = parts
    this.#ledger = new Handle({ ...parts, space: STORE_SPACE }, ownSession('imports', parts.space))
    this.#quarantine = quarantineOf(parts)
  }

  /** What came of a source when it was imported, if it was. */
  async sessionsOf(digest: string): Promise<ImportedSession[] | undefined> {
    const value = await this.#read('sources', digest)
    return value === undefined ? undefined : ((value as JsonObject).sessions as unknown as ImportedSession[])
  }

  /** Whether a large source of so many bytes was imported: one that is not known by its size need not be read to be told. */
  async knowsSize(bytes: number): Promise<boolean> {
    return (await this.#read('sizes', String(bytes))) !== undefined
  }

  /** The name of the source that a session was made from. */
  async originOf(session: string): Promise<string | undefined> {
    const value = await this.#read('sessions', session)
    return value === undefined ? undefined : String((value as JsonObject).source)
  }

  /** The session that another one comes from, where only that one says so. */
  async parentOf(session: string): Promise<string | undefined> {
    const value = await this.#read('children', session)
    return value === undefined ? undefined : String((value as JsonObject).parent)
  }

  async add(
    { digest, bytes }: Digested,
    source: Source,
    format: string,
    sessions: readonly ImportedSession[],
    children: ReadonlyMap<string, string>,
  ): Promise<void> {
    const entries: Entry[] = [{ channel: 'sources', key: digest, value: { source: source.name, format, sessions } as unknown as Json }]
    if (bytes >= LARGE_BYTES) entries.push({ channel: 'sizes', key: String(bytes), value: {} })
    for (const { session } of sessions) {
      if (session === null || (await this.originOf(session)) === source.name) continue
      entries.push({ channel: 'sessions', key: session, value: { source: source.name } })
    }
    for (const [child, parent] of children) {
      if ((await this.parentOf(child)) !== parent) entries.push({ channel: 'children', key: child, value: { parent } })
    }
    await putEntries(this.#ledger, entries, {})
  }

  /** Keeps the bytes of damaged places, each once. */
  async quarantine(source: Source, damage: readonly DamageItem[]): Promise<void> {
    let left = QUARANTINED_BYTES
    for (const { place, reason, session, bytes } of damage) {
      left -= bytes.length
      if (bytes.length === 0 || left < 0) continue
      const at = createHash('sha256').update(`${source.name}\0${place.file}\0${place.offset}\0`).update(bytes).digest('hex').slice(0, 32)
      if ((await this.#read('import', at, this.#quarantine)) !== undefined) continue
      const value = { source: source.name, session, place: { ...place }, reason, base64: Buffer.from(bytes).toString('base64') }
      await admitBytes(this.#parts, value.base64.length)
      await putEntries(this.#quarantine, [{ channel: 'import', key: at, value }], {})
    }
  }

  async #read(channel: string, key: string, handle = this.#ledger): Promise<Json | undefined> {
    if ((await handle.state()).status !== 'live') return undefined
    const [known] = await handle.held.replica.find([entryKey(channel, key)])
    return known === undefined ? undefined : (await readEntry(handle, channel, key))?.value
  }
}
