/** Reads the messages of a journal for the full-text index, with what the state tells of each: its place in the tree, and its archive. */

import type { Known, MessagePut, TextPut } from '../engine/catalog.ts'
import type { Journal } from '../engine/port.ts'
import { type Found, Records } from '../journal/records.ts'
import type { Tail } from '../journal/tail.ts'
import { searchableOf } from '../message/searchable.ts'
import { hashKey } from '../record/key-hash.ts'
import type { JsonObject } from '../record/record.ts'
import { archivedOf, branchTo, isOn, PAST, runOf, without } from '../session/branch.ts'
import { type MessageErased, type MessageReplaced, type MessagesAppended, messageId } from '../session/records.ts'
import type { SessionState, Stretch } from '../session/state.ts'

/** Bytes of a journal that are read for one put. */
export const PIECE_BYTES = 1024 * 1024

export interface ReadMessages {
  readonly messages: readonly MessagePut[]
  readonly days: TextPut['days']
  /** The last record that was read; undefined if there was none. */
  readonly last: (Pick<Known['text'], 'at' | 'crc'> & { readonly end: number }) | undefined
  readonly complete: boolean
}

export class MessageReader {
  readonly #journal: Journal
  readonly #records: Records
  readonly #tail: Tail<SessionState>
  readonly #state: SessionState
  readonly #branch: readonly Stretch[]
  readonly #archives: Archives

  constructor(journal: Journal, tail: Tail<SessionState>) {
    this.#journal = journal
    this.#records = new Records(journal)
    this.#tail = tail
    this.#state = tail.state
    this.#branch = branchTo(this.#state, this.#state.head)
    this.#archives = new Archives(this.#state)
  }

  async read(from: number, end: number): Promise<ReadMessages> {
    const messages: MessagePut[] = []
    const days = new Map<string, { messages: number; tokens: number }>()
    let last: ReadMessages['last']
    for await (const found of this.#records.forward(from, end - 1)) {
      if (found.at >= from + PIECE_BYTES && last !== undefined) return { messages, days: daysOf(days), last, complete: false }
      last = { at: found.at, crc: found.crc, end: found.end }
      const { record } = found
      if (record.type === 'messages.appended') {
        this.#appended(found, messages)
        const day = days.get(record.at.slice(0, 10)) ?? { messages: 0, tokens: 0 }
        day.messages += (record as unknown as MessagesAppended).messages.length
        day.tokens += (record as unknown as MessagesAppended).tokens
        days.set(record.at.slice(0, 10), day)
      } else if (record.type === 'message.replaced') await this.#replaced(found, messages)
      else if (record.type === 'message.erased') messages.push(...withoutText(found))
    }
    return { messages, days: daysOf(days), last, complete: true }
  }

  #appended(found: Found, into: MessagePut[]): void {
    const { messages } = found.record as unknown as MessagesAppended
    for (let index = 0; index < messages.length; index++) into.push(this.#put(found, index, found.at, messages[index] as JsonObject))
  }

  async #replaced({ record, at }: Found, into: MessagePut[]): Promise<void> {
    const { target, message } = record as unknown as MessageReplaced
    const original = await this.#original(target, at)
    if (original !== undefined) {
      into.push(this.#put(original.found, original.index, at, message as JsonObject))
      return
    }
    // A fork has given other content to a message that it inherited: its new content is found here.
    const { role, text } = searchableOf(message as JsonObject)
    const time = Date.parse(record.at)
    into.push({ position: at, index: 0, source: at, run: PAST, depth: 0, role, at: time, archive: null, onBranch: true, text })
  }

  /** Where a message was appended: in a segment that is sealed, whose keys are known, or else in the last one. */
  async #original(id: string, before: number): Promise<{ found: Found; index: number } | undefined> {
    const { born } = this.#state
    const { segment } = this.#tail
    const [entry] = born < segment ? await this.#journal.lookup([hashKey('message', id)], born, segment) : []
    const sealed = entry === undefined ? undefined : await this.#records.at(entry.at)
    if (entry !== undefined && sealed?.record.type === 'messages.appended') return { found: sealed, index: entry.index }
    for await (const found of this.#records.forward(Math.max(born, segment), before)) {
      if (found.record.type !== 'messages.appended') continue
      const { messages, ids } = found.record as unknown as MessagesAppended
      const index = messages.findIndex((_, i) => messageId(found.record.id, ids, i) === id)
      if (index !== -1) return { found, index }
    }
    return undefined
  }

  #put({ record, at }: Found, index: number, source: number, message: JsonObject): MessagePut {
    const { n } = record as unknown as MessagesAppended
    const run = runOf(this.#state.runs, [at, index])?.at ?? 0
    const depth = n + index + 1
    return {
      position: at,
      index,
      source,
      run,
      depth,
      ...searchableOf(message),
      at: Date.parse(record.at),
      archive: this.#archives.of(run, depth),
      onBranch: isOn(this.#branch, run, depth),
    }
  }
}

/** What was erased is found no longer: a text without words takes the place of each that was. */
function withoutText({ record, at: source }: Found): MessagePut[] {
  const gone = { source, run: PAST, depth: 0, role: '', at: 0, archive: null, onBranch: true, text: '' }
  return (record as unknown as MessageErased).lines.flatMap(({ at: position, parts }) =>
    parts.flatMap(({ path: [name, index] }) => {
      if (name === 'messages') return [{ ...gone, position, index: index as number }]
      // Of an encrypted record, no reader sees which of its values it was: it has one text, if any.
      return name === 'message' || name === 'data' ? [{ ...gone, position, index: 0 }] : []
    }),
  )
}

function daysOf(days: ReadonlyMap<string, { messages: number; tokens: number }>): TextPut['days'] {
  return [...days].map(([day, counts]) => ({ day, ...counts }))
}

/** Which archive holds a message: the first of those that do. */
class Archives {
  /** Of each run, stretches that do not overlap, in order. */
  readonly #byRun = new Map<number, { readonly from: number; readonly to: number; readonly archive: number }[]>()

  constructor({ archives }: SessionState) {
    const held = new Map<number, Stretch[]>()
    for (const archive of archives) {
      for (const stretch of archivedOf([archive])) {
        const before = held.get(stretch.run) ?? []
        // Hardly ever does one begin before the last one ends: a revert had cut that archive.
        const isBehind = stretch.from >= (before.at(-1)?.to ?? 0)
        const own = isBehind ? [stretch] : without([stretch], before)
        before.push(...own)
        held.set(stretch.run, isBehind ? before : before.sort((a, b) => a.from - b.from))
        const known = this.#byRun.get(stretch.run) ?? []
        known.push(...own.map(({ from, to }) => ({ from, to, archive: archive.number })))
        this.#byRun.set(stretch.run, isBehind ? known : known.sort((a, b) => a.from - b.from))
      }
    }
  }

  of(run: number, depth: number): number | null {
    const stretches = this.#byRun.get(run) ?? []
    let [low, high] = [0, stretches.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((stretches[middle]?.from as number) < depth) low = middle + 1
      else high = middle
    }
    const before = stretches[low - 1]
    return before !== undefined && depth <= before.to ? before.archive : null
  }
}
