/** What was verified up to where, and found whole: kept in the reserved space, so that a large store can be verified a little at a time. */
import type { Json } from '../record/record.ts'
import type { Entry } from '../session/records.ts'
import { Handle } from '../store/handle.ts'
import { putEntries, readEntries } from '../store/messages/entries.ts'
import type { SessionParts } from '../store/parts.ts'

const CHANNEL = 'verified'
const TOGETHER = 500

export class Verified {
  readonly #handle: Handle
  readonly #known = new Map<string, Json>()
  #fresh: Entry[] = []

  constructor(parts: SessionParts) {
    this.#handle = new Handle({ ...parts, space: '_store' }, 'doctor')
  }

  async load(): Promise<void> {
    if ((await this.#handle.state()).status !== 'live') return
    for await (const { key, value } of readEntries(this.#handle, CHANNEL)) this.#known.set(key, value)
  }

  /** Whether a journal has grown since it was found whole. */
  isOld(name: string, end: number): boolean {
    return this.#known.get(name) !== end
  }

  async add(name: string, end: number): Promise<void> {
    this.#fresh.push({ channel: CHANNEL, key: name, value: end })
    if (this.#fresh.length >= TOGETHER) await this.save()
  }

  async save(): Promise<void> {
    const entries = this.#fresh
    this.#fresh = []
    if (entries.length > 0) await putEntries(this.#handle, entries, {})
  }
}
