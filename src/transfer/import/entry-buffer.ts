/** Entries of a source, put into a session many at a time, each once: one that the session has stays as it is. */
import type { EntryItem } from '../../formats/item.ts'
import { BATCH_BYTES } from '../../formats/ready.ts'
import { putEntries } from '../../session/decide.ts'
import { entryKey } from '../../session/record-keys.ts'
import type { Entry } from '../../session/records.ts'
import type { Handle } from '../../store/handle.ts'
import { admit } from '../../store/messages/admission.ts'
import { type ImportScope, reportRefusal } from './import-scope.ts'

/** The most entries in one record. */
const MOST_ENTRIES = 256

export class EntryBuffer {
  readonly #scope: ImportScope
  readonly #handle: Handle
  #entries: EntryItem[] = []
  #bytes = 0

  constructor(scope: ImportScope, handle: Handle) {
    this.#scope = scope
    this.#handle = handle
  }

  async add(entry: EntryItem): Promise<void> {
    this.#entries.push(entry)
    this.#bytes += entry.length ?? 0
    if (this.#entries.length >= MOST_ENTRIES || this.#bytes >= BATCH_BYTES) await this.flush()
  }

  async flush(): Promise<void> {
    const entries = this.#entries
    this.#entries = []
    this.#bytes = 0
    if (entries.length === 0) return
    const at = this.#scope.times.at(entries.findLast((entry) => entry.at !== undefined)?.at)
    const fresh = (await this.#fresh(entries)).map((entry) => this.#admitted(entry))
    if (fresh.length > 0) await this.#put(fresh, at)
  }

  /** The entries that the session does not have, the first of each key. */
  async #fresh(entries: readonly EntryItem[]): Promise<EntryItem[]> {
    const known = await this.#handle.held.replica.find(entries.map(({ channel, key }) => entryKey(channel, key)))
    return entries.filter(({ key }, index) => known[index] === undefined && entries.findIndex((one) => one.key === key) === index)
  }

  #admitted(entry: EntryItem): Entry {
    const { value = null } = admit(this.#scope.parts, this.#handle.id, 'entry', entry)
    return { channel: entry.channel, key: entry.key, value }
  }

  /** If they cannot be put together, each is put alone: one that is too large for a record must not cost the others. */
  async #put(entries: readonly Entry[], at: string | undefined): Promise<void> {
    try {
      await this.#handle.submit({ at }, (full) => putEntries(full, entries))
    } catch (error) {
      if (entries.length === 1) reportRefusal(this.#scope, error, `The record "${entries[0]?.key}"`)
      else for (const entry of entries) await this.#put([entry], at)
    }
  }
}
